"""Findings for Python callers mention keyword arguments, not command-line options."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator

import pytest
import yaml
from helpers.paths import PACKAGE

from speccompile import CompileError, compile_many, compile_run
from speccompile.cli.main import parser
from speccompile.report.python_help import in_python

RUN = {"name": "train", "action": "job", "image": "python:3.12"}
FOLDERS = ("model", "yaml_text", "schema", "compiler")
"""The folders whose findings Python callers see."""


def options_of(command: argparse.ArgumentParser) -> Iterator[str]:
    for action in command._actions:
        yield from (option for option in action.option_strings if option.startswith("--"))
        for inner in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from options_of(inner)


def strings_in(table: object) -> list[str]:
    if isinstance(table, dict):
        return [text for value in table.values() for text in strings_in(value)]
    return [str(table)]


def texts_with_options() -> list[str]:
    """Every string of these folders, except docstrings, that mentions an option of the command line."""
    options = re.compile(rf"(?<![-\w])(?:{'|'.join(sorted(set(options_of(parser()))))})(?![-\w])")
    texts = []
    for module in (path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
        texts += [str(node.value) for node in strings if id(node) not in docs]
    texts += strings_in(yaml.safe_load((PACKAGE / "schema" / "foreign_names.yaml").read_text(encoding="utf-8")))
    return [text for text in texts if options.search(text)]


@pytest.mark.parametrize("text", texts_with_options())
def test_every_option_in_a_message_has_a_name_in_python(text: str) -> None:
    assert "--" not in in_python(text)


def test_there_are_such_messages() -> None:
    assert len(texts_with_options()) > 5


def test_errors_mention_keyword_arguments() -> None:
    with pytest.raises(CompileError) as raised:
        compile_run({**RUN, "profile": "fast"})
    (finding,) = raised.value.diagnostics
    assert finding.help == "name a known profile, or pass its file with `profiles=`"


@pytest.mark.parametrize(
    ("profile", "help_text"),
    [
        (RUN, "pass it to `compile_run`"),
        ({"runs": ["runs"], "output": "out"}, "read it with `load_project`"),
        ({"id": "x", "extends": "y"}, "pass the parent's file with `profiles=`"),
    ],
)
def test_errors_of_profiles_mention_python_names(profile: dict[str, object], help_text: str) -> None:
    with pytest.raises(CompileError) as raised:
        list(compile_many([], profiles=[profile]))
    assert [finding.help for finding in raised.value.diagnostics] == [help_text]


def test_options_of_the_run_itself_are_quoted_as_they_are() -> None:
    (finding,) = compile_run({**RUN, "command": "python --profiles x"}).diagnostics
    assert finding.help == 'write a list: ["python", "--profiles", "x"]'
