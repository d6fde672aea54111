"""Write a report to a file, to standard output, or into a pipe or device."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from speccompile.files.call_inputs import STREAM
from speccompile.files.replace_files import Output, mode_of, obstacle
from speccompile.files.write import DONE, FAILED, write_file
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.terminal.display_width import printable


class Report(NamedTuple):
    """A text, its file, and a text by which earlier reports are recognized."""

    text: str
    file: str
    sign: str


def write_report(report: Report, inputs: Iterable[object], stdout: TextIO, stderr: TextIO) -> int:
    """Write a report, and return the exit code; a file that does not contain its sign is not replaced.

    A dash is standard output. Pipes and devices, such as /dev/null, are written to, and never read or replaced.
    """
    if is_stdout(report.file):
        stdout.write(report.text)
        return DONE
    path = Path(report.file)
    input_files = [one for one in inputs if isinstance(one, Path)]
    try:
        if _is_sink(path):
            # Without O_CREAT and O_TRUNC: something else may be there by now.
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_NOCTTY), "w", encoding="utf-8", newline="\n") as stream:
                stream.write(report.text)
        else:
            output = Output(Path(path.name), report.text, sign=re.compile(re.escape(report.sign)))
            write_file(output, path.parent, input_files)
    except OSError as error:
        stderr.write(f"speccompile: {printable(report.file)} was not written: {error.strerror or error}\n")
        return FAILED
    return DONE


def is_stdout(file: str) -> bool:
    """Whether the file is standard output: a dash, or the file that the shell redirects it to.

    The latter includes names such as /dev/stdout, which are links that must not be replaced.
    """
    return file == STREAM or _is_file_of(1, Path(file))


def _is_file_of(stream: int, path: Path) -> bool:
    """Whether the stream goes into the regular file, or the pipe, at the path."""
    try:
        status = path.stat()
        is_file_or_pipe = stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)
        return is_file_or_pipe and os.path.samestat(status, os.fstat(stream))
    except OSError:
        return False


def _is_sink(path: Path) -> bool:
    """Whether the path is a pipe or device, to be written to, and not a file, to be replaced. Raises if neither."""
    mode = mode_of(path)
    if _is_file_of(2, path):
        raise FileExistsError(17, "standard error goes there", str(path))
    if mode is None or stat.S_ISREG(mode):
        return False
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        return True
    raise obstacle(mode, path)
