"""Cron schedules, checked as Kubernetes does."""

import re
from typing import Final

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.quantity import ratio
from speccompile.schema.formats.text_format import ValueFault, too_long


class _CronField(NamedTuple):
    """One field of a schedule; the first of `names` is another way to write `low`."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        named = f", or `{self.names[0]}` to `{self.names[-1]}`" if self.names else ""
        return f"expected {self.low} to {self.high}{named}"


_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_CRON_FIELDS: Final = (
    _CronField("minute", 0, 59),
    _CronField("hour", 0, 23),
    _CronField("day of month", 1, 31),
    _CronField("month", 1, 12, _MONTHS),
    _CronField("day of week", 0, 6, _DAYS),
)
_LONGEST_SCHEDULE: Final = 1024
_LONGEST_NUMBER: Final = 18
_CRON_BLANK: Final = r"[ \t]+"
_CRON_ORDER: Final = "write minute, hour, day of month, month and day of week, such as `30 4 * * 1-5`"
_CRON_WORDS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_CRON_EVERY: Final = "@every "

_LONGEST_DURATION_TEXT: Final = 64
_LONGEST_DURATION: Final = 2**63 - 1
_FINEST: Final = 10**_LONGEST_DURATION_TEXT
_DURATION_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION_TERM: Final = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_DURATION: Final = rf"\+?(?:{_DURATION_TERM})+"


def cron_fault(text: str) -> ValueFault | None:
    """A schedule of five fields, a word such as `@daily`, or `@every` with a duration.

    Kubernetes accepts a few meaningless forms, such as an empty entry in a list or `*-x`; they are rejected here.
    """
    if fault := too_long(text, "a schedule", _LONGEST_SCHEDULE):
        return fault
    if text.startswith("@"):
        return _cron_word_fault(text)
    schedule = text.strip(" \t")
    if not schedule:
        return ValueFault("the schedule is empty", _CRON_ORDER)
    parts = re.split(_CRON_BLANK, schedule)
    if parts[0].startswith(("TZ=", "CRON_TZ=")):
        return ValueFault(
            f"the schedule begins with a time zone, {quote(parts[0])}",
            f"leave out {quote(parts[0])}: a time zone inside a schedule is not supported here",
        )
    if len(parts) != len(_CRON_FIELDS):
        fields = "field" if len(parts) == 1 else "fields"
        return ValueFault(f"the schedule has {len(parts)} {fields}, expected five", _CRON_ORDER)
    return next(
        (
            fault
            for field, part in zip(_CRON_FIELDS, parts, strict=True)
            for item in part.split(",")
            if (fault := _cron_item_fault(field, item))
        ),
        None,
    )


def _cron_item_fault(field: _CronField, item: str) -> ValueFault | None:
    subject = f"`{field.name}` field {quote(item)}"
    span, slash, step = item.partition("/")
    if slash and not _small_number(step):
        return ValueFault(f"{subject}: expected a step of 1 or more after `/`", "write a step such as `*/5`")
    if span in ("*", "?"):
        return None
    ends = span.split("-", 1)
    numbers = [number for end in ends if (number := _cron_number(field, end)) is not None]
    if len(numbers) < len(ends):
        return ValueFault(f"{subject}: {field.expected}", _cron_number_help(field, ends))
    first, last = numbers[0], numbers[-1]
    if first > last:
        return ValueFault(
            f"{subject}: the range runs backwards",
            f"write `{first}-{field.high},{field.low}-{last}` to go past the end" if not slash else None,
        )
    return None


def _small_number(text: str) -> int | None:
    """The number in the text; None if it is not a number, or larger than any field or step."""
    digits = text.lstrip("0") or text[-1:]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_NUMBER else None


def _cron_number(field: _CronField, text: str) -> int | None:
    if text.isascii() and text.upper() in field.names:
        return field.low + field.names.index(text.upper())
    number = _small_number(text)
    return number if number is not None and field.low <= number <= field.high else None


def _cron_number_help(field: _CronField, ends: list[str]) -> str | None:
    if field.names == _DAYS and "7" in ends:
        return "Sunday is `0` or `SUN`"
    short = [end[:3].upper() if end.isalpha() else end for end in ends]
    understood = all(_cron_number(field, end) is not None for end in short)
    return f"write `{'-'.join(short)}`" if understood else None


def _cron_word_fault(text: str) -> ValueFault | None:
    if text in _CRON_WORDS:
        return None
    if text.startswith(_CRON_EVERY):
        return _duration_fault(text.removeprefix(_CRON_EVERY))
    known = ", ".join(f"`{word}`" for word in _CRON_WORDS)
    return ValueFault(f"{quote(text)} is not a schedule", f"write five fields, {known} or `@every 1h30m`")


def _duration_fault(text: str) -> ValueFault | None:
    """The fault of a text that is not a Go duration above zero and below 292 years."""
    if len(text) > _LONGEST_DURATION_TEXT or not re.fullmatch(_DURATION, text):
        return ValueFault(
            f"{quote(text)} is not a duration", "write numbers with units, such as `90s`, `1h30m` or `24h`"
        )
    terms = ((ratio(number), _DURATION_UNITS[unit]) for number, unit in re.findall(_DURATION_TERM, text))
    # No term has more decimals than the text has characters, so this is exact.
    total = sum(term.numerator * unit * (_FINEST // term.denominator) for term, unit in terms)
    if not 0 < total <= _LONGEST_DURATION * _FINEST:
        return ValueFault(
            f"the duration {quote(text)} is out of range", "write a duration above zero and below 290 years"
        )
    return None
