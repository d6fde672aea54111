"""Help of findings for Python callers: keyword arguments in place of command-line options."""

from __future__ import annotations

import re
from collections.abc import Mapping

from speccompile.compiler.compiled import Result
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError

_OPTIONS: Mapping[str, str] = {
    "--functions": "functions=",
    "--platform": "platform=",
    "--profiles": "profiles=",
    "--templates": "templates=",
}
_PHRASES: Mapping[str, str] = {
    "pass it as an argument, such as `speccompile render run.yaml`": "pass it to `compile_run`",
    "pass it with `--project`": "read it with `load_project`",
}
# Help may quote a run, such as the words of a command; an option that is to be passed follows one of these words.
_OPTION = re.compile(rf"\b(by|pass|with) `?({'|'.join(_OPTIONS)})(?![-\w])`?")
_PHRASE = re.compile("|".join(map(re.escape, _PHRASES)))


def result_for_python(result: Result) -> Result:
    """The result, with findings as `for_python` words them."""
    findings = tuple(map(for_python, result.diagnostics))
    if findings == result.diagnostics:
        return result
    if isinstance(result, CompileError):
        return CompileError(findings, result.run, result.overrides)
    return result.but(findings)


def for_python(finding: Diagnostic) -> Diagnostic:
    """The finding, with Python's names for command-line options in its help and notes."""
    notes = tuple(note._replace(message=in_python(note.message)) for note in finding.notes)
    help_text = finding.help and in_python(finding.help)
    if (notes, help_text) == (finding.notes, finding.help):
        return finding
    return finding._replace(notes=notes, help=help_text)


def in_python(text: str) -> str:
    """The text, with Python's names for command-line options."""
    text = _PHRASE.sub(lambda match: _PHRASES[match[0]], text)
    return _OPTION.sub(lambda match: f"{match[1]} `{_OPTIONS[match[2]]}`", text)
