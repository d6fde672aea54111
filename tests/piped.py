"""Takes a text and arguments, gives what a call prints that has the text on standard input, in this process."""

from __future__ import annotations

import io
import sys
from typing import Any, NamedTuple

import pytest
import yaml

from speccompile.cli.main import main


class Answer(NamedTuple):
    """What one call gave."""

    code: int
    stdout: str
    stderr: str

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = yaml.safe_load(self.stdout)
        return data


def piped(text: str | bytes, *arguments: str) -> Answer:
    """The answer of a call; the streams of this process are as before."""
    stdin, stdout, stderr = sys.stdin, io.StringIO(), io.StringIO()
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", stderr)
        code = main([*arguments])
    assert sys.stdin is stdin
    return Answer(code, stdout.getvalue(), stderr.getvalue())
