"""Kubernetes quantities: exact values and canonical spellings."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple

if TYPE_CHECKING:
    from fractions import Fraction

_LONGEST_TEXT: Final = 64
_LARGEST_EXPONENT: Final = 40
_LARGEST_VALUE: Final = 2**63 - 1
NANOS: Final = 10**9
"""How many of the smallest amounts make one."""
_MOST_KEPT: Final = 4096

_DECIMAL_UNITS: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SCALES: Final = {
    **{unit: 1000**power for power, unit in enumerate(_DECIMAL_UNITS)},
    **{unit: 1024**power * NANOS for power, unit in enumerate(_BINARY_UNITS)},
}
"""The units in nano."""

# Patterns stay text until first used, so that an import does not pay for compiling those nobody needs.
_NUMBER: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_QUANTITY: Final = rf"(?P<number>{_NUMBER})(?:(?P<unit>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
_THOUSANDS: Final = r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+[^0-9,]*"

_EXAMPLES: Final = "write a number and at most one suffix, such as `2`, `500m`, `8G` or `8Gi`"

# Keyed by the case-folded suffix, because the wrong case is the commonest fault of all.
_MEANT: Final[dict[str, tuple[str, ...]]] = {
    **{
        f"{unit.lower()}{ending}": (unit, f"{unit.upper()}i")
        for unit in ("k", "M", "G", "T", "P", "E")
        for ending in ("", "b", "byte", "bytes")
    },
    **{f"{unit.lower()}{ending}": (unit,) for unit in _BINARY_UNITS[1:] for ending in ("", "b", "byte", "bytes")},
    **dict.fromkeys(("b", "byte", "bytes", "core", "cores", "cpu", "cpus", "vcpu", "vcpus"), ("",)),
    **dict.fromkeys(("gpu", "gpus"), ("",)),
    **dict.fromkeys(("mcpu", "mcore", "mcores", "millicore", "millicores"), ("m",)),
    "n": ("n",),
    "u": ("u",),
    "μ": ("u",),
}


class QuantityError(ValueError):
    """A text that is no quantity: `message` states the fault, `help` the right spelling if one is known."""

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(message)
        self.message: str = message
        self.help: str | None = advice


class Quantity:
    """An exact amount: equality, order and hash go by its size alone, so `1Gi` equals `1024Mi`.

    `text` is the author's spelling; `nano` the amount in billionths, of which it is always a whole number; `unit` is
    the suffix, empty for plain and for exponent spellings.
    """

    __slots__ = ("nano", "text", "unit")

    def __init__(self, *, text: str, nano: int, unit: str) -> None:
        self.text: Final = text
        self.nano: Final = nano
        self.unit: Final = unit

    @property
    def value(self) -> Fraction:
        """The amount itself."""
        from fractions import Fraction  # slow to import, and most compare only

        return Fraction(self.nano, NANOS)

    @property
    def is_whole(self) -> bool:
        return self.nano % NANOS == 0

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: Quantity) -> bool:
        return self.nano > other.nano

    def __ge__(self, other: Quantity) -> bool:
        return self.nano >= other.nano

    def __repr__(self) -> str:
        return f"<Quantity {self.text}>"


class Ratio(NamedTuple):
    """A factor, exact; it stands in for a Fraction, which is slow to import."""

    numerator: int
    denominator: int


class _Diagnosis(NamedTuple):
    message: str
    help: str | None


def parse_quantity(text: str | float) -> Quantity:
    """The quantity as Kubernetes reads it: exact down to nano, anything finer rounded away from zero.

    A number is first written out in decimal digits. Raises `QuantityError` for anything outside the grammar,
    longer than 64 characters, with an exponent beyond ±40, or beyond ±(2**63 - 1), where Kubernetes would
    clamp some spellings without a word.
    """
    return _parsed(text)


# A thousand runs ask for the same few amounts; what is refused is not kept.
@lru_cache(maxsize=_MOST_KEPT, typed=True)
def _parsed(text: str | float) -> Quantity:
    written = text if isinstance(text, str) else _written_out(text)
    if len(written) > _LONGEST_TEXT:
        raise QuantityError(
            f"{quote(written)} is {len(written)} characters long, more than a quantity's {_LONGEST_TEXT}"
        )
    match = re.fullmatch(_QUANTITY, written)
    if match is None:
        raise QuantityError(*_diagnosis(written))
    exponent = int(match["exponent"] or 0)
    if abs(exponent) > _LARGEST_EXPONENT:
        raise QuantityError(
            f"the exponent of {quote(written)} is out of range",
            f"exponents go from -{_LARGEST_EXPONENT} to {_LARGEST_EXPONENT}",
        )
    unit = match["unit"] or ""
    number = ratio(match["number"], exponent)
    # A negative amount is rounded away from zero too.
    size = _divided_up(abs(number.numerator) * _SCALES[unit], number.denominator)
    if size > _LARGEST_VALUE * NANOS:
        raise _out_of_range(quote(written))
    return Quantity(text=written, nano=-size if number.numerator < 0 else size, unit=unit)


def ratio(number: str, exponent: int = 0) -> Ratio:
    """The number that decimal digits stand for, times ten to the exponent."""
    whole, _, part = number.partition(".")
    digits, power = int(whole + part), exponent - len(part)
    return Ratio(digits * 10**power, 1) if power >= 0 else Ratio(digits, 10**-power)


def _divided_up(number: int, by: int) -> int:
    return -(-number // by)


def scaled_up(quantity: Quantity, factor: Ratio | Fraction, unit: str = "") -> str:
    """The quantity times the factor, rounded up to a whole number of the unit, written in the largest unit that fits.

    That is the quantity's own when the result is a whole number of it, else the next smaller one of the
    same family for which it is, else the given one. Raises `QuantityError` when the result is beyond ±(2**63 - 1).
    """
    step = _SCALES[unit]
    total = _divided_up(quantity.nano * factor.numerator, factor.denominator * step) * step
    if abs(total) > _LARGEST_VALUE * NANOS:
        raise _out_of_range(f"{quote(quantity.text)} scaled up")
    return next(
        f"{total // _SCALES[fitting]}{fitting}"
        for fitting in (*_units_down_from(quantity.unit), unit)
        if total % _SCALES[fitting] == 0
    )


def _units_down_from(unit: str) -> tuple[str, ...]:
    family = _DECIMAL_UNITS if unit in _DECIMAL_UNITS else _BINARY_UNITS
    return family[family.index(unit) :: -1]


def _out_of_range(subject: str) -> QuantityError:
    return QuantityError(f"{subject} is out of range", f"the largest quantity is `{_LARGEST_VALUE}`")


def _written_out(number: float) -> str:
    """The number in decimal digits without an exponent; a truth value, NaN or infinity raises."""
    if isinstance(number, bool):
        raise QuantityError(f"`{str(number).lower()}` is not a quantity", _EXAMPLES)
    if isinstance(number, int):
        # Turning an enormous integer into digits is slow, and Python refuses it beyond some length.
        if abs(number) > _LARGEST_VALUE:
            raise _out_of_range("the number")
        return str(number)
    if not math.isfinite(number):
        raise QuantityError(f"`{number}` is not a quantity", _EXAMPLES)
    if abs(number) > _LARGEST_VALUE:
        raise _out_of_range(quote(repr(number)))
    written = str(int(number)) if number.is_integer() else _digits(repr(number))
    if len(written) > _LONGEST_TEXT:
        raise QuantityError(f"{quote(repr(number))} has too many digits for a quantity")
    return written


def _digits(number: str) -> str:
    """The number as Python writes it, without the exponent: nobody writes one by hand that has any."""
    if "e" not in number:
        return number
    from decimal import Decimal  # slow to import

    return format(Decimal(number), "f")


def _diagnosis(text: str) -> _Diagnosis:
    """The fault and the help for a text that is outside the grammar."""
    if not text:
        return _Diagnosis("a quantity cannot be empty", _EXAMPLES)
    joined = "".join(text.split())
    if joined != text:
        return _Diagnosis(f"{quote(text)} contains white space", _help_with(joined, ", without the space"))
    joined = text.replace("_", "")
    if joined != text:
        return _Diagnosis(f"{quote(text)} contains an underscore", _help_with(joined, ", without the underscore"))
    if "," in text:
        return _Diagnosis(f"{quote(text)} contains a comma", _comma_help(text))
    number = re.match(_NUMBER, text)
    if number is None:
        return _Diagnosis(f"{quote(text)} does not begin with a number", _EXAMPLES)
    return _Diagnosis(
        f"{quote(text)} does not end in a known suffix", _suffix_help(number.group(), text[number.end() :])
    )


def _help_with(repaired: str, remark: str = "") -> str | None:
    """The help that proposes the repaired text, or the help for the fault still left in it."""
    if re.fullmatch(_QUANTITY, repaired):
        return f"write `{repaired}`{remark}"
    return _diagnosis(repaired).help


def _comma_help(text: str) -> str | None:
    joined, dotted = text.replace(",", ""), text.rstrip(",").replace(",", ".")
    if not re.fullmatch(_THOUSANDS, text):
        return _help_with(dotted)
    if text.count(",") == 1 and re.fullmatch(_QUANTITY, joined):
        return f"write `{joined}`, without the comma, or `{dotted}` for a decimal fraction"
    return _help_with(joined, ", without the comma")


def _suffix_help(number: str, suffix: str) -> str:
    meant = _MEANT.get(suffix.casefold())
    if meant is None:
        return _EXAMPLES
    if len(meant) == 1:
        return f"write `{number}{meant[0]}`"
    decimal, binary = meant
    return f"write `{number}{decimal}` (powers of ten) or `{number}{binary}` (powers of two)"
