"""Takes commands on standard input, gives what each of them cost; a program of its own, run by `timing.py`.

Linux counts the memory of whoever starts a program as the program's own, until that is its own: to see small
programs as they are, the starter must be smaller. So this one imports nothing but what the interpreter has in it.
"""

import marshal
import posix
import sys
import time


def main() -> None:
    while True:
        try:
            command, environment, folder, output = marshal.load(sys.stdin.buffer)  # noqa: S302  of the process that started this
        except EOFError:
            return
        posix.chdir(folder)
        opened = [
            (posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDONLY, 0),
            (posix.POSIX_SPAWN_OPEN, 1, output, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o600),
            (posix.POSIX_SPAWN_OPEN, 2, output + ".errors", posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o600),
        ]
        start = time.perf_counter()
        child = posix.posix_spawn(command[0], command, environment, file_actions=opened)
        _, status, used = posix.wait4(child, 0)
        wall = time.perf_counter() - start
        told = (posix.waitstatus_to_exitcode(status), wall, used.ru_utime + used.ru_stime, used.ru_maxrss)
        marshal.dump(told, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
