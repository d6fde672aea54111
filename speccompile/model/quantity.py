"""Kubernetes quantities: exact values and canonical spellings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple

if TYPE_CHECKING:
    from fractions import Fraction

_MAX_LENGTH: Final = 64
_MAX_EXPONENT: Final = 40
_MAX_VALUE: Final = 2**63 - 1
NANOS: Final = 10**9
"""Nano units in one."""
_CACHE_SIZE: Final = 4096

_DECIMAL_UNITS: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SCALES: Final = {
    **{unit: 1000**power for power, unit in enumerate(_DECIMAL_UNITS)},
    **{unit: 1024**power * NANOS for power, unit in enumerate(_BINARY_UNITS)},
}
"""The units in nano."""

# Patterns are compiled on first use, to keep the import fast.
_NUMBER: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_QUANTITY: Final = rf"(?P<number>{_NUMBER})(?:(?P<unit>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
_THOUSANDS: Final = r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+[^0-9,]*"

_EXAMPLES: Final = "write a number and at most one suffix, such as `2`, `500m`, `8G` or `8Gi`"

# Keyed by the case-folded suffix, because the wrong case is the most common mistake.
_CORRECTIONS: Final[dict[str, tuple[str, ...]]] = {
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
    """A text that is not a quantity: `message` is the error, `help` the right spelling, if known."""

    def __init__(self, message: str, help_text: str | None = None) -> None:
        super().__init__(message)
        self.message: str = message
        self.help: str | None = help_text


class Quantity:
    """An exact amount. Equality, order and hash use the amount only, so `1Gi` equals `1024Mi`.

    `text` is the author's spelling; `nano` the amount in billionths, always a whole number; `unit` the suffix, empty
    for plain numbers and exponents.
    """

    __slots__ = ("nano", "text", "unit")

    def __init__(self, *, text: str, nano: int, unit: str) -> None:
        self.text: Final = text
        self.nano: Final = nano
        self.unit: Final = unit

    @property
    def value(self) -> Fraction:
        from fractions import Fraction  # slow to import, and rarely needed

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
    """An exact factor, used instead of Fraction, which is slow to import."""

    numerator: int
    denominator: int


class _Diagnosis(NamedTuple):
    message: str
    help: str | None


def parse_quantity(text: str | float) -> Quantity:
    """Parse a quantity as Kubernetes does: exact to nano units, anything smaller rounded away from zero.

    A number is first converted to decimal digits. Raises `QuantityError` for a text outside the grammar, longer than
    64 characters, with an exponent beyond ±40, or beyond ±(2**63 - 1), where Kubernetes would silently clamp some
    spellings.
    """
    return _parsed(text)


# Runs use the same few amounts; errors are not cached.
@lru_cache(maxsize=_CACHE_SIZE, typed=True)
def _parsed(text: str | float) -> Quantity:
    digits = text if isinstance(text, str) else _decimal_text(text)
    if len(digits) > _MAX_LENGTH:
        raise QuantityError(f"{quote(digits)} has {len(digits)} characters, and a quantity at most {_MAX_LENGTH}")
    match = re.fullmatch(_QUANTITY, digits)
    if match is None:
        raise QuantityError(*_diagnosis(digits))
    exponent = int(match["exponent"] or 0)
    if abs(exponent) > _MAX_EXPONENT:
        raise QuantityError(
            f"the exponent of {quote(digits)} is out of range",
            f"use an exponent from -{_MAX_EXPONENT} to {_MAX_EXPONENT}",
        )
    unit = match["unit"] or ""
    number = ratio(match["number"], exponent)
    # A negative amount is rounded away from zero too.
    size = _divide_up(abs(number.numerator) * _SCALES[unit], number.denominator)
    if size > _MAX_VALUE * NANOS:
        raise _out_of_range(quote(digits))
    return Quantity(text=digits, nano=-size if number.numerator < 0 else size, unit=unit)


def ratio(number: str, exponent: int = 0) -> Ratio:
    """The value of decimal digits, times ten to the exponent."""
    whole, _, part = number.partition(".")
    digits, power = int(whole + part), exponent - len(part)
    return Ratio(digits * 10**power, 1) if power >= 0 else Ratio(digits, 10**-power)


def _divide_up(number: int, by: int) -> int:
    return -(-number // by)


def scaled_up(quantity: Quantity, factor: Ratio | Fraction, unit: str = "") -> str:
    """The quantity times the factor, rounded up to a multiple of `unit`, in the largest unit that fits.

    That is the quantity's unit if the result is a multiple of it, else the next smaller unit of the same family, else
    `unit`. Raises `QuantityError` if the result is beyond ±(2**63 - 1).
    """
    step = _SCALES[unit]
    total = _divide_up(quantity.nano * factor.numerator, factor.denominator * step) * step
    if abs(total) > _MAX_VALUE * NANOS:
        raise _out_of_range(f"{quote(quantity.text)} scaled up")
    return _text(total, (*_units_down_from(quantity.unit), unit))


def added_up(quantities: Sequence[Quantity]) -> Quantity:
    """The sum, in the unit of the largest amount or a smaller one."""
    return _quantity(sum(quantity.nano for quantity in quantities), max(quantities).unit)


def remaining(quantity: Quantity, others: Iterable[Quantity]) -> Quantity:
    """The quantity minus the others, in its unit or a smaller one."""
    return _quantity(quantity.nano - sum(other.nano for other in others), quantity.unit)


def _quantity(nano: int, unit: str) -> Quantity:
    return Quantity(text=_text(nano, (*_units_down_from(unit), *_units_down_from(""))), nano=nano, unit=unit)


def _text(nano: int, units: Iterable[str]) -> str:
    """The amount in the first of the units that it is a multiple of."""
    return next(f"{nano // _SCALES[unit]}{unit}" for unit in units if nano % _SCALES[unit] == 0)


def _units_down_from(unit: str) -> tuple[str, ...]:
    family = _DECIMAL_UNITS if unit in _DECIMAL_UNITS else _BINARY_UNITS
    return family[family.index(unit) :: -1]


def _out_of_range(subject: str) -> QuantityError:
    return QuantityError(f"{subject} is out of range", f"the largest quantity is `{_MAX_VALUE}`")


def _decimal_text(number: float) -> str:
    """The number in decimal digits without an exponent; a boolean, NaN or infinity raises."""
    if isinstance(number, bool):
        raise QuantityError(f"`{str(number).lower()}` is not a quantity", _EXAMPLES)
    if isinstance(number, int):
        # Converting an enormous integer to digits is slow, and raises beyond some length.
        if abs(number) > _MAX_VALUE:
            raise _out_of_range("the number")
        return str(number)
    if not math.isfinite(number):
        raise QuantityError(f"`{number}` is not a quantity", _EXAMPLES)
    if abs(number) > _MAX_VALUE:
        raise _out_of_range(quote(repr(number)))
    written = str(int(number)) if number.is_integer() else _digits(repr(number))
    if len(written) > _MAX_LENGTH:
        raise QuantityError(f"{quote(repr(number))} has too many digits for a quantity")
    return written


def _digits(number: str) -> str:
    """The text of a float, without an exponent."""
    if "e" not in number:
        return number
    from decimal import Decimal  # slow to import

    return format(Decimal(number), "f")


def _diagnosis(text: str) -> _Diagnosis:
    """The message and help for a text outside the grammar."""
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
        return _Diagnosis(f"{quote(text)} does not start with a number", _EXAMPLES)
    return _Diagnosis(
        f"{quote(text)} does not end in a known suffix", _suffix_help(number.group(), text[number.end() :])
    )


def _help_with(repaired: str, remark: str = "") -> str | None:
    """Suggest the repaired text, or explain the error that remains in it."""
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
    corrections = _CORRECTIONS.get(suffix.casefold())
    if corrections is None:
        return _EXAMPLES
    if len(corrections) == 1:
        return f"write `{number}{corrections[0]}`"
    decimal, binary = corrections
    return f"write `{number}{decimal}` (powers of ten) or `{number}{binary}` (powers of two)"
