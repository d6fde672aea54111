"""Plain YAML scalars, and where YAML 1.1 and 1.2 disagree on them."""

from __future__ import annotations

import math
import re
from typing import Final

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.node import Scalar
from speccompile.model.source import Span

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# Patterns are compiled on first use: few runs need one, and together they take a millisecond.
_INT_12 = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT_12 = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_SPECIAL = r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"

# Scalars that YAML 1.1 and YAML 1.2 readers resolve to different values.
_WORD_11 = frozenset(
    spelling for word in ("y", "n", "yes", "no", "on", "off") for spelling in (word, word.capitalize(), word.upper())
) | {"=", "<<"}
_DIFFERENT_11 = (
    r"[-+]?0[0-9_]+"  # octal to 1.1, decimal to 1.2
    r"|0o[0-7]+"  # a string to 1.1
    r"|[-+]0x[0-9a-fA-F_]+"
    r"|[-+]?0b[01_]+"
    r"|[-+]?[0-9][0-9_]*_[0-9_]*"  # digits grouped by underscores
    r"|0x[0-9a-fA-F]*_[0-9a-fA-F_]*"
    r"|[-+]?([0-9][0-9_]*)?\.[0-9_]*_[0-9_]*([eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9][0-9_]*_[0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"  # base 60
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?"  # dates
)
_EXPONENT_11 = r"[-+]?([0-9][0-9]*)?\.[0-9]*([eE][-+][0-9]+)?"
_LONGEST_NUMBER = 64
_LARGEST = 2**63 - 1
_SURE_DIGITS = 18
"""Any number of this many digits fits 64 bits."""
_NUMBER_SIGNS = "0123456789+-._:"
_YEAR_DIGITS = len("2026")


class Ambiguous(str):
    """A scalar that YAML 1.1 and 1.2 readers resolve to different values."""

    __slots__ = ()


class Exponent(str):
    """A number such as `1e3`, which YAML 1.1 reads as a string: valid as a quantity, ambiguous anywhere else."""

    __slots__ = ()


class OutOfRange(str):
    """A number that is not a 64-bit JSON number: too large, too long, `.nan` or `.inf`."""

    __slots__ = ()


Resolved = Scalar | Ambiguous | Exponent | OutOfRange
_NUMBER_STARTS: Final = frozenset("0123456789+-.")


def resolve(text: str) -> Resolved:
    """Resolve a plain scalar by the YAML 1.2 core schema, as far as YAML 1.1 agrees."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if text in _WORD_11:
        return Ambiguous(text)
    if text[0] not in _NUMBER_STARTS:
        return text
    return _resolve_number(text)


def _resolve_number(text: str) -> Resolved:
    if text.isdecimal() and text.isascii() and len(text) <= _SURE_DIGITS and (text[0] != "0" or text == "0"):
        return int(text)
    if text[_YEAR_DIGITS : _YEAR_DIGITS + 1] == "-":
        return match_number(text)  # a date may have other characters after the day
    letters = text.lstrip(_NUMBER_SIGNS)
    before = text[: len(text) - len(letters)].lstrip("+-")
    if letters and not (
        letters[0] in "eE" or (before == "0" and letters[0] in "xob") or (before == "." and letters[0] in "iInN")
    ):
        return text
    return match_number(text)


def match_number(text: str) -> Resolved:
    """Like `resolve`, by pattern, for a text that begins like a number."""
    if len(text) > _LONGEST_NUMBER:
        return OutOfRange(text) if re.fullmatch(_INT_12, text) or re.fullmatch(_FLOAT_12, text) else text
    if re.fullmatch(_SPECIAL, text):
        return OutOfRange(text)
    if re.fullmatch(_DIFFERENT_11, text):
        return Ambiguous(text)
    if re.fullmatch(_INT_12, text):
        number = int(text, 16) if text.startswith("0x") else int(text)
        return number if abs(number) <= _LARGEST else OutOfRange(text)
    if re.fullmatch(_FLOAT_12, text):
        if not re.fullmatch(_EXPONENT_11, text):
            return Exponent(text)
        value = float(text)
        return value if math.isfinite(value) else OutOfRange(text)
    return text


def ambiguous(text: str, span: Span) -> Diagnostic:
    """The finding for a plain scalar that YAML 1.1 and 1.2 readers resolve to different values."""
    return Diagnostic(
        code="yaml/ambiguous-scalar",
        message=f"{quote(text)} has different meanings in YAML 1.1 and YAML 1.2",
        span=span,
        help=f'quote it if it is text: "{quote(text)[1:-1]}"; otherwise write the boolean or number in full',
    )
