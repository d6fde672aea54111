"""Manifests as templates of a Helm chart that renders to the same text."""

from __future__ import annotations

_OPENS = "{{"
_WRITTEN = '{{ "{{" }}'
"""An action that prints what would open one. Whatever closes one is plain text where none is open."""


def as_chart_template(text: str) -> str:
    """The text, with nothing in it that Helm would take for an action."""
    return text.replace(_OPENS, _WRITTEN)


def from_chart_template(text: str) -> str | None:
    """What a template that we wrote renders to; None if there are other actions in it, which Helm alone can tell."""
    return None if _OPENS in text.replace(_WRITTEN, "") else text.replace(_WRITTEN, _OPENS)
