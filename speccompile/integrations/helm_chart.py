"""Manifests as templates of a Helm chart that renders to the same text."""

from __future__ import annotations

_OPENING = "{{"
_ESCAPED = '{{ "{{" }}'
"""An action that prints `{{`; `}}` needs no escape, because outside an action it is plain text."""


def as_chart_template(text: str) -> str:
    """Escape everything in the text that Helm would execute as an action."""
    return text.replace(_OPENING, _ESCAPED)


def from_chart_template(text: str) -> str | None:
    """What a generated template renders to; None if it contains other actions, which only Helm can evaluate."""
    return None if _OPENING in text.replace(_ESCAPED, "") else text.replace(_ESCAPED, _OPENING)
