"""Typographic quotes: a warning where they are meant to delimit a value, and none where they are text."""

from __future__ import annotations

import pytest

from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parse_strict import parse_exact
from speccompile.yaml_text.typographic_quotes import typographic_quotes


def places(text: str) -> list[str]:
    source = Source("run.yaml", text, Layer.RUN)
    found = [
        [f"{warning.span.line}:{warning.span.column}" for warning in typographic_quotes(document.root) if warning.span]
        for read in (parse, parse_exact)
        for document in read(source).documents
    ]
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: “b”\n", ["1:4"]),
        ("a: „b“\n", ["1:4"]),
        ("a: [‘b’, ’c’]\n", ["1:5", "1:10"]),
        ("a: [“b, c”]\n", ["1:5", "1:9"]),
        ("a: “b c\n", ["1:4"]),
        ("“a”: b\n", ["1:1"]),
        ("a: &x “b”\n", ["1:7"]),
    ],
)
def test_quotes_around_a_value(text: str, expected: list[str]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a: b # “c”\n",
        'a: "“b”"\n',
        "a: '“b”'\n",
        "a: |\n  “b”\n",
        "a: >-\n  “b”\n",
        "a: a word in “quotes” is text\n",
        "a: she said “hello”\n",
        "a: “hello” she said\n",
        "a: don’t\n",
        "a: of all users’\n",
        "a: ’90s music\n",
        "a: café\n",
    ],
)
def test_quotes_that_are_text(text: str) -> None:
    assert places(text) == []
