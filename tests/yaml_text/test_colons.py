"""A colon before a bracket or comma, which YAML readers understand differently, kubectl among them."""

from __future__ import annotations

import pytest

from speccompile.model.full_path import FULL_PATH
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    "text", ["a: {gpu:}", "a: {gpu:, b: 1}", "a: [gpu:]", "a: [gpu:, b]", "{a: {gpu:\n}, b: [x:]}"]
)
def test_a_colon_before_a_flow_sign_is_refused(text: str, full: bool) -> None:
    token = FULL_PATH.set(full)
    try:
        findings = parse(Source("run.yaml", text, Layer.RUN)).findings
    finally:
        FULL_PATH.reset(token)
    assert [found.code for found in findings] == ["yaml/ambiguous-scalar"]
    assert "put a space after the colon" in (findings[0].help or "")


@pytest.mark.parametrize(
    "text",
    ["a: {gpu: }", "a: {gpu: , b: 1}", "a: {'gpu:': 1}", "a: ['gpu:']", "a:: b", "a: {b:c: d}", "gpu:", '{"a":}'],
)
def test_other_colons_are_read(text: str) -> None:
    assert not parse(Source("run.yaml", text, Layer.RUN)).findings
