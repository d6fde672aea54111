"""Write a report to a file, to standard output, or into a pipe or device."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from speccompile.files.call_inputs import STREAM
from speccompile.files.write import DONE, FAILED, Output, in_the_way, mode_of, write_files
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.terminal.display_width import printable


class Report(NamedTuple):
    """A text, where it belongs, and by what in it a report of ours is known."""

    text: str
    file: str
    sign: str


def write_report(report: Report, inputs: Iterable[object], stdout: TextIO, stderr: TextIO) -> int:
    """The exit code: the text is in the file, whole, unless that is a file without our sign in it.

    A dash is standard output. Pipes and devices, such as /dev/null, are written to, and never read or replaced.
    """
    if is_stdout(report.file):
        stdout.write(report.text)
        return DONE
    path = Path(report.file)
    known = [one for one in inputs if isinstance(one, Path)]
    try:
        if _is_sink(path):
            _pour(report.text, path)
        else:
            write_files(
                [Output(Path(path.name), report.text, sign=re.compile(re.escape(report.sign)))], path.parent, known
            )
    except OSError as error:
        stderr.write(f"speccompile: {printable(report.file)} was not written: {error.strerror or error}\n")
        return FAILED
    return DONE


def is_stdout(file: str) -> bool:
    """Whether a report for the file is one for standard output: a dash, or the file that the shell sends it to.

    The latter has names like /dev/stdout, which are links that replacing would ruin.
    """
    return file == STREAM or _is_file_of(1, Path(file))


def _is_file_of(stream: int, path: Path) -> bool:
    """Whether the stream goes into the regular file, or the pipe, at the path."""
    try:
        there = path.stat()
        is_one = stat.S_ISREG(there.st_mode) or stat.S_ISFIFO(there.st_mode)
        return is_one and os.path.samestat(there, os.fstat(stream))
    except OSError:
        return False


def _is_sink(path: Path) -> bool:
    """Whether a report is poured into what is at the path, following links, or else put in its place.

    Raises if neither can be.
    """
    mode = mode_of(path)
    if _is_file_of(2, path):
        raise FileExistsError(17, "standard error goes there", str(path))
    if mode is None or stat.S_ISREG(mode):
        return False
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        return True
    raise in_the_way(mode, path)


def _pour(text: str, path: Path) -> None:
    # Makes and cuts nothing, should something else stand there by now.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_NOCTTY), "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
