"""Formats of text defined by a pattern, with the right spelling where it is known."""

import re
from collections.abc import Callable
from typing import Final

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple


class Fault(NamedTuple):
    """What is wrong with a value, and how to put it right where that is known."""

    message: str
    help: str | None


_LONGEST_SUGGESTION: Final = 100


# Patterns stay text until first used, so that an import does not pay for compiling those nobody needs.
class Shape(NamedTuple):
    """A kind of name: `what` reads after "is not", `rule` says what is expected."""

    what: str
    pattern: str
    longest: int | None
    rule: str


def too_long(text: str, what: str, longest: int) -> Fault | None:
    if len(text) <= longest:
        return None
    return Fault(f"{quote(text)} is {len(text)} characters long", f"{what} has at most {longest} characters")


def shape_fault(text: str, shape: Shape, suggested: Callable[[str], str] | None = None) -> Fault | None:
    """The fault of a text that is not of the shape; what is suggested counts only when it is of the shape itself.

    Length is looked at first, so that no pattern ever runs over a long text for nothing.
    """
    if not text:
        return Fault(f"an empty text is not {shape.what}", shape.rule)
    excess = too_long(text, shape.what, shape.longest) if shape.longest else None
    if excess or re.fullmatch(shape.pattern, text):
        return excess
    suggestion = "" if suggested is None else suggested(text)
    helped = re.fullmatch(shape.pattern, suggestion)
    return Fault(f"{quote(text)} is not {shape.what}", f"write `{suggestion}`" if helped else shape.rule)


def with_suggestion(suggestion: str, otherwise: str) -> str:
    """A help with the whole suggestion, or in general words if there is none or it is too long to read."""
    return f"write `{suggestion}`" if 0 < len(suggestion) <= _LONGEST_SUGGESTION else otherwise
