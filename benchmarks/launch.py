"""Program that reads commands from standard input and writes the cost of each; started by `timing.py`.

Linux counts the memory of the parent towards a new process until it executes its program. To measure small programs,
the parent must be smaller still, so this program imports only built-in modules.
"""

import marshal
import posix
import sys
import time


def main() -> None:
    while True:
        try:
            command, environment, folder, output = marshal.load(sys.stdin.buffer)  # noqa: S302  from the parent process
        except EOFError:
            return
        posix.chdir(folder)
        streams = [
            (posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDONLY, 0),
            (posix.POSIX_SPAWN_OPEN, 1, output, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o600),
            (posix.POSIX_SPAWN_OPEN, 2, output + ".errors", posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o600),
        ]
        start = time.perf_counter()
        child = posix.posix_spawn(command[0], command, environment, file_actions=streams)
        _, status, usage = posix.wait4(child, 0)
        wall = time.perf_counter() - start
        cost = (posix.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
        marshal.dump(cost, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
