"""Examples of a documentation page: files, commands with their output, and Python.

A fenced block whose first line is `# file: NAME` is a file. A `console` block is a command, after `$`, and its output:
stderr, then stdout. A `pycon` block is an interactive session, and a `python` block a program. They run in the order
of the page, in one directory, so a page can show a file, and later a changed version of it.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from helpers.programs import program

from speccompile.cli.main import main

_FENCED = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# file: (\S+)\n")
_CALL = re.compile(r"\$ (.*)\n")
_PROGRAMS = ("cat", "helm", "kubectl", "kustomize")
"""Other programs that pages may call."""


class Block(NamedTuple):
    language: str
    body: str

    @property
    def file(self) -> str | None:
        """The file name, if the block is a file."""
        opening = _FILE.match(self.body)
        return opening.group(1) if opening else None

    @property
    def call(self) -> list[str]:
        """The words of the command, if the block shows one that can be run."""
        opening = _CALL.match(self.body) if self.language == "console" else None
        words = shlex.split(opening.group(1)) if opening else []
        return words if words and words[0] in ("speccompile", *_PROGRAMS) else []

    @property
    def is_python(self) -> bool:
        return self.language in ("python", "pycon") and not self.file


def blocks(text: str) -> list[Block]:
    return [Block(*found.groups()) for found in _FENCED.finditer(text)]


def has_examples(text: str) -> bool:
    return any(block.call or block.is_python for block in blocks(text))


def played(text: str) -> str:
    """Run the examples in the current directory, and return the page with their current output.

    Raises whatever its Python raises, and AssertionError if a session prints something else.
    """
    names: dict[str, Any] = {"__name__": "page"}
    return _FENCED.sub(lambda found: _played(found, names), text)


def _played(found: re.Match[str], names: dict[str, Any]) -> str:
    block = Block(*found.groups())
    if block.file:
        path = Path(block.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.body, encoding="utf-8")
    elif block.call:
        head, _, _ = found.group().partition(block.body)
        command, _, _ = block.body.partition("\n")
        return f"{head}{command}\n{_printed(block.call)}```"
    elif block.language == "pycon":
        _converse(block.body, names)
    elif block.is_python:
        with redirect_stdout(StringIO()):
            exec(block.body, names)  # noqa: S102  examples of the documentation
    return found.group()


def _printed(call: list[str]) -> str:
    if call[0] != "speccompile":
        done = subprocess.run([program(call[0]), *call[1:]], capture_output=True, text=True, check=False)
        return done.stderr + done.stdout
    out, err = StringIO(), StringIO()
    # argparse exits after --help and usage errors; its output is captured all the same.
    with redirect_stdout(out), redirect_stderr(err), suppress(SystemExit):
        main(call[1:])
    return err.getvalue() + out.getvalue()


def _converse(body: str, names: dict[str, Any]) -> None:
    failures: list[str] = []
    session = doctest.DocTestParser().get_doctest(body, names, "page", None, 0)
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, out=failures.append, clear_globs=False)
    names.update(session.globs)
    assert not failures, "".join(failures)


def calls_named(text: str) -> Iterator[list[str]]:
    """The words of each speccompile command in a script or pipeline."""
    for block in blocks(text):
        if block.language in ("sh", "yaml", "ini", "toml"):
            for line in block.body.splitlines():
                opening = re.match(r"\s*(?:- )?(?:run: |script: |entry: )?(speccompile [^|<>&;#]*)", line)
                yield from [shlex.split(opening.group(1))] if opening else []
