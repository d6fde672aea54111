"""What notebooks show, asked of the real IPython."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from speccompile import CompileError, compile_run
from speccompile.model.finding_text import findings_as_text
from speccompile.report.explain_text import as_listing

RUN: dict[str, Any] = {"name": "train", "action": "job", "image": "python:3.12", "profile": "p"}
HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>&amp;"


class Reader(HTMLParser):
    """The elements and the text of a fragment."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.open: list[str] = []
        self.texts: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style", "open"}
        self.elements.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in dict.fromkeys(self.open):
            self.texts[tag] = self.texts.get(tag, "") + data


def shown_by_ipython(value: object) -> Reader:
    formatter = InteractiveShell.instance().display_formatter
    assert formatter is not None
    data, _ = formatter.format(value)  # type: ignore[no-untyped-call]
    reader = Reader()
    reader.feed(data["text/html"])
    reader.close()
    assert reader.open == []
    return reader


def test_a_compilation_shows_its_listing_with_what_lost_struck_through() -> None:
    compiled = compile_run({**RUN, "priority_class": "low"}, profiles=[{"id": "p", "priority_class": "high"}])
    shown = shown_by_ipython(compiled)
    assert shown.texts["pre"] == as_listing(compiled) + findings_as_text(compiled.diagnostics)
    assert shown.texts["del"] == "priorityClassName: low"
    assert shown.texts["summary"] == "Job train1 notice"


def test_an_error_shows_its_findings() -> None:
    with pytest.raises(CompileError) as raised:
        compile_run({**RUN, "profile": None, "resources": {"mem": "8GB"}})
    shown = shown_by_ipython(raised.value)
    assert shown.texts["pre"] == findings_as_text(raised.value.diagnostics)
    assert "error[schema/quantity]" in shown.texts["b"]


def test_a_raised_error_shows_its_findings_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    shell = InteractiveShell.instance()
    result = shell.run_cell("from speccompile import compile_run\ncompile_run({'name': 'train', 'action': 'jub'})")  # type: ignore[no-untyped-call]
    assert isinstance(result.error_in_exec, CompileError)
    assert capsys.readouterr().out == f"{result.error_in_exec}\n"


def test_no_text_of_a_user_is_taken_for_html() -> None:
    """Whatever stands in a spec, also the characters by which painted text is marked on the way."""
    hostile = f"{HOSTILE}\ue000error\ue001{HOSTILE}\ue002"
    compiled = compile_run({**RUN, "envs": {"A": hostile}, "args": [hostile]}, profiles=[{"id": "p", "args": ["b"]}])
    shown = shown_by_ipython(compiled)
    assert shown.elements <= {"details", "summary", "pre", "span", "b", "del"}
    assert HOSTILE in shown.texts["pre"]


def test_the_characters_that_mark_painted_text_are_free() -> None:
    """A rule's reason is shown as its author wrote it."""
    rule = {"required": True, "reason": "\ue000error\ue001 a \ue002error\ue001"}
    with pytest.raises(CompileError) as raised:
        compile_run(RUN, profiles=[{"id": "p", "rules": {"priority_class": rule}}])
    shown = shown_by_ipython(raised.value)
    assert shown.texts["pre"] == findings_as_text(raised.value.diagnostics)
