"""Redaction: findings and excerpts that repeat nothing of a text that may be secret."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.node import Node
from speccompile.model.secret_positions import secrets_in
from speccompile.model.source import Source, Span

HIDDEN = "(not shown: this line may contain a secret)"
"""Shown instead of a line that may contain a secret."""
MASK = "(not shown)"
"""Shown instead of a value that may be a secret."""
_QUOTED = r'`(?:[^`]|`(?=\w))+`|"(?:[^"\\]|\\.)+"'
"""A quoted value in a message, which may contain a backtick."""
_FOUND = r"(?<=found )(the \w+ )?`(?:[^`]|`(?=\w))+`"
"""The value that a finding is about, which may be converted."""
_SIGNS = r"[\W_]+"
_MIN_SECRET = 3
"""Shorter texts are more likely punctuation than secrets."""
_Forms: TypeAlias = tuple[tuple[str, str], ...]
"""Secret values, each also without punctuation, which messages may escape."""


def is_secret_line(span: Span) -> bool:
    """Whether the line may contain a secret."""
    return span.line in secrets_in(span.source).lines


def is_hidden(node: Node) -> bool:
    """Whether a part of the value may be a secret."""
    return any(_is_secret(inner) for _, inner in node.walk())


def _is_secret(node: Node) -> bool:
    span, secrets = node.span, secrets_in(node.span.source)
    if not span.line:
        return node.is_scalar and str(node.value) in secrets.texts
    return any(line in secrets.lines for line in range(span.line, span.last_line + 1))


def redacted(finding: Diagnostic, free: Source | None = None) -> Diagnostic:
    """The finding without values that may be secret; `free` is known to have none."""
    known = (finding.span, *(note.span for note in finding.notes))
    spans = [span for span in known if span and span.source is not free]
    secrets = [form for source in {span.source for span in spans if _is_near(span)} for form in _forms(source)]
    if not secrets:
        return finding
    is_value = any(not span.line or span[1:3] in secrets_in(span.source).values for span in spans)

    def without(words: str) -> str:
        words = re.sub(_FOUND, rf"\1`{MASK}`", words) if is_value else words
        words = re.sub(_QUOTED, lambda match: f"`{MASK}`" if _repeats(match[0][1:-1], secrets) else match[0], words)
        for secret, letters in secrets:
            if len(letters) > _MIN_SECRET and secret in words:
                words = MASK.join(part.replace(secret, MASK) for part in words.split(MASK))
        return words

    return finding._replace(
        message=without(finding.message),
        help=without(finding.help) if finding.help else None,
        notes=tuple(note._replace(message=without(note.message)) for note in finding.notes),
        path=tuple(MASK if isinstance(step, str) and _contains(step, secrets) else step for step in finding.path),
    )


def _is_near(span: Span) -> bool:
    near = secrets_in(span.source).near
    # Python data has no lines.
    return bool(near) and (not span.line or any(line in near for line in range(span.line, span.last_line + 1)))


@lru_cache(maxsize=8)
def _forms(source: Source) -> _Forms:
    """The secrets of a text as messages may quote them."""
    texts = sorted(secrets_in(source).texts)
    forms = dict.fromkeys(form for text in texts for form in (text, quote(text, 10 * len(text))[1:-1]))
    return tuple((form, _letters(form)) for form in forms)


def _letters(text: str) -> str:
    return re.sub(_SIGNS, "", text)


def _contains(words: str, secrets: Sequence[tuple[str, str]]) -> bool:
    """Whether the words contain a secret, literally or without punctuation."""
    letters = _letters(words)
    return any(
        words == secret
        or (len(secret) >= _MIN_SECRET and secret in words)
        or (len(secret_letters) >= _MIN_SECRET and secret_letters in letters)
        for secret, secret_letters in secrets
    )


def _repeats(words: str, secrets: Sequence[tuple[str, str]]) -> bool:
    """Whether the words contain a secret or are a part of one, or are cut after the beginning of one."""
    if words == MASK:
        return False
    start = words.strip("…")
    pairs = [(part, whole) for secret in secrets for part, whole in zip((start, _letters(start)), secret, strict=True)]
    return (
        _contains(start, secrets)
        or any(len(part) >= _MIN_SECRET and part in whole for part, whole in pairs)
        or (words.endswith("…") and any(_ends_in(part, whole) for part, whole in pairs))
    )


def _ends_in(words: str, secret: str) -> bool:
    """Whether the words end in the beginning of the secret."""
    return any(words.endswith(secret[:end]) for end in range(_MIN_SECRET, min(len(words), len(secret)) + 1))
