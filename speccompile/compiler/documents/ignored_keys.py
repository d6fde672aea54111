"""The notice about keys of a run that are ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.node import Node


def ignored_keys(ignored: Mapping[KeyPath, Node]) -> Iterator[Diagnostic]:
    """The notice about these keys, by path, at the first of them."""
    if ignored:
        first = min((node.key or node.span for node in ignored.values()), key=lambda span: (span.line, span.column))
        listed = ", ".join(f"`{name}`" for name in sorted(map(format_path, ignored)))
        yield Diagnostic(
            code="run/ignored-key",
            message=f"ignored keys that do not affect the manifests: {listed}",
            span=first,
            severity=Severity.NOTICE,
        )
