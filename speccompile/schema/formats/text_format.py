"""Formats of text defined by a pattern, with the right spelling where it is known."""

import re
from collections.abc import Callable
from typing import Final

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple


class ValueFault(NamedTuple):
    """What is wrong with a value, and how to fix it if that is known."""

    message: str
    help: str | None


_LONGEST_SUGGESTION: Final = 100


# Patterns are compiled on first use, which keeps imports fast.
class Shape(NamedTuple):
    """A kind of name: `what` follows "is not" in messages, `rule` is the help."""

    what: str
    pattern: str
    longest: int | None
    rule: str


def too_long(text: str, what: str, longest: int) -> ValueFault | None:
    if len(text) <= longest:
        return None
    return ValueFault(
        f"{quote(text)} is {len(text)} characters long", f"shorten it: {what} has at most {longest} characters"
    )


def shape_fault(text: str, shape: Shape, suggested: Callable[[str], str] | None = None) -> ValueFault | None:
    """The fault of a text that does not have the shape; a suggestion is used only if it has the shape itself.

    The length is checked first, so that no pattern runs over a long text.
    """
    if not text:
        return ValueFault(f"an empty text is not {shape.what}", shape.rule)
    excess = too_long(text, shape.what, shape.longest) if shape.longest else None
    if excess or re.fullmatch(shape.pattern, text):
        return excess
    suggestion = "" if suggested is None else suggested(text)
    is_valid = re.fullmatch(shape.pattern, suggestion)
    return ValueFault(f"{quote(text)} is not {shape.what}", f"write `{suggestion}`" if is_valid else shape.rule)


def with_suggestion(suggestion: str, otherwise: str) -> str:
    """Help with the suggestion, or the general help if there is none or it is too long."""
    return f"write `{suggestion}`" if 0 < len(suggestion) <= _LONGEST_SUGGESTION else otherwise
