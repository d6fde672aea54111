"""A comma after the last value: refused in JSON files, and part of YAML."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompile.model.full_path import FULL_PATH
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse

JSON = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(',]} \n"\\\\a:', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab,]}", max_size=3), inner, max_size=3),
    max_leaves=8,
)


def columns(text: str, name: str = "run.json") -> list[tuple[int, int]]:
    findings = parse(Source(name, text, Layer.RUN)).findings
    return [
        (found.span.line, found.span.column) for found in findings if found.code == "yaml/stray-comma" and found.span
    ]


@pytest.mark.parametrize("full", [False, True])
def test_every_trailing_comma_of_a_json_file_is_reported(full: bool) -> None:
    token = FULL_PATH.set(full)
    try:
        assert columns('{"a": [1, 2,],\n "b": {"c": ",]",\n},}') == [(1, 12), (2, 17), (3, 2)]
    finally:
        FULL_PATH.reset(token)


def test_yaml_allows_a_trailing_comma() -> None:
    for name in ("run.yaml", "<stdin>"):
        assert not parse(Source(name, "{a: [1, 2,], b: 3,}", Layer.RUN)).findings


@given(JSON)
def test_valid_json_has_no_trailing_comma(data: object) -> None:
    assert columns(json.dumps([data])) == []
