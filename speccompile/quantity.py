"""Takes a Kubernetes quantity as its author wrote it, gives its exact value and its scaled spelling."""

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from speccompile.diagnostics import shown

_LONGEST_TEXT: Final = 64
_LARGEST_EXPONENT: Final = 40
_LARGEST_VALUE: Final = 2**63 - 1
_NANOS: Final = 10**9

_DECIMAL_UNITS: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SCALES: Final = {
    **{unit: Fraction(1000) ** power for power, unit in enumerate(_DECIMAL_UNITS, start=-3)},
    **{unit: Fraction(1024) ** power for power, unit in enumerate(_BINARY_UNITS)},
}

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


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Quantity:
    """An exact amount: equality, order and hash go by `value` alone, so `1Gi` equals `1024Mi`.

    `text` is the author's spelling; `unit` is its suffix, empty for plain and for exponent spellings.
    """

    text: str = field(compare=False)
    value: Fraction
    unit: str = field(compare=False)


class _Diagnosis(NamedTuple):
    message: str
    help: str | None


def parse_quantity(text: str | float) -> Quantity:
    """The quantity as Kubernetes reads it: exact down to nano, anything finer rounded away from zero.

    A number is first written out in decimal digits. Raises `QuantityError` for anything outside the grammar,
    longer than 64 characters, with an exponent beyond ±40, or beyond ±(2**63 - 1), where Kubernetes would
    clamp some spellings without a word.
    """
    written = text if isinstance(text, str) else _written_out(text)
    if len(written) > _LONGEST_TEXT:
        raise QuantityError(
            f"{shown(written)} is {len(written)} characters long, more than a quantity's {_LONGEST_TEXT}"
        )
    match = re.fullmatch(_QUANTITY, written)
    if match is None:
        raise QuantityError(*_diagnosis(written))
    exponent = int(match["exponent"] or 0)
    if abs(exponent) > _LARGEST_EXPONENT:
        raise QuantityError(
            f"the exponent of {shown(written)} is out of range",
            f"exponents go from -{_LARGEST_EXPONENT} to {_LARGEST_EXPONENT}",
        )
    unit = match["unit"] or ""
    exact = Fraction(Decimal(match["number"])) * _SCALES[unit] * Fraction(10) ** exponent
    value = _rounded_to_nano(exact)
    if abs(value) > _LARGEST_VALUE:
        raise _out_of_range(shown(written))
    return Quantity(text=written, value=value, unit=unit)


def scaled_up(quantity: Quantity, factor: Fraction, unit: str = "") -> str:
    """The quantity times the factor, rounded up to a whole number of the unit, written in the largest unit that fits.

    That is the quantity's own when the result is a whole number of it, else the next smaller one of the
    same family for which it is, else the given one. Raises `QuantityError` when the result is beyond ±(2**63 - 1).
    """
    step = _SCALES[unit]
    total = math.ceil(quantity.value * factor / step) * step
    if abs(total) > _LARGEST_VALUE:
        raise _out_of_range(f"{shown(quantity.text)} scaled up")
    return next(
        f"{total / _SCALES[fitting]}{fitting}"
        for fitting in (*_units_down_from(quantity.unit), unit)
        if (total / _SCALES[fitting]).denominator == 1
    )


def _units_down_from(unit: str) -> tuple[str, ...]:
    family = _DECIMAL_UNITS if unit in _DECIMAL_UNITS else _BINARY_UNITS
    return family[family.index(unit) :: -1]


def _rounded_to_nano(value: Fraction) -> Fraction:
    size = Fraction(math.ceil(abs(value) * _NANOS), _NANOS)
    return -size if value < 0 else size


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
        raise _out_of_range(shown(repr(number)))
    written = str(int(number)) if number.is_integer() else format(Decimal(repr(number)), "f")
    if len(written) > _LONGEST_TEXT:
        raise QuantityError(f"{shown(repr(number))} has too many digits for a quantity")
    return written


def _diagnosis(text: str) -> _Diagnosis:
    """The fault and the help for a text that is outside the grammar."""
    if not text:
        return _Diagnosis("a quantity cannot be empty", _EXAMPLES)
    joined = "".join(text.split())
    if joined != text:
        return _Diagnosis(f"{shown(text)} contains white space", _help_with(joined, ", without the space"))
    joined = text.replace("_", "")
    if joined != text:
        return _Diagnosis(f"{shown(text)} contains an underscore", _help_with(joined, ", without the underscore"))
    if "," in text:
        return _Diagnosis(f"{shown(text)} contains a comma", _comma_help(text))
    number = re.match(_NUMBER, text)
    if number is None:
        return _Diagnosis(f"{shown(text)} does not begin with a number", _EXAMPLES)
    return _Diagnosis(
        f"{shown(text)} does not end in a known suffix", _suffix_help(number.group(), text[number.end() :])
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
