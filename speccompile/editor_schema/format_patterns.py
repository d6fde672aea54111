"""Portable regular expressions for formats and for bounds of quantities.

Editors do not support custom formats, but they support `pattern`. A pattern here never rejects what its format accepts,
and uses only syntax that Python and JavaScript share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.quantity import parse_quantity


class TextPattern(NamedTuple):
    """A regular expression for whole texts, and the editor's message for texts that do not match."""

    pattern: str
    rule: str


def anchored(pattern: str) -> str:
    """The pattern anchored at both ends; Python's `$` alone also matches before a final line end."""
    return f"^(?:{pattern})$(?!\\n)"


def literal(text: str) -> str:
    """The pattern of exactly this text; `re.escape` escapes more than JavaScript allows."""
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", r"\\\g<0>", text)


def in_any_case(text: str) -> str:
    """The pattern of this text in upper and lower case."""
    return "".join(f"[{char.lower()}{char.upper()}]" if char.isalpha() else literal(char) for char in text)


# Quantities

_UNITS: Final = ("", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_UNIT: Final = "[KMGTPE]i|[numkMGTPE]"
_EXPONENT: Final = "[eE][+-]?[0-9]+"
_UNCOMPARED: Final = f"[nu]|{_EXPONENT}"
"""Rare suffixes: quantities with one are always accepted."""
_NUMBER: Final = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_NOTHING: Final = r"-\.?0[0.]*"
"""Negative zero, which is a valid quantity."""
_DIGITS: Final = 9
"""Decimals that are compared with a bound; a text that differs only in later ones is accepted."""


class Bounds(NamedTuple):
    """The smallest and the largest value; None for no bound."""

    least: Fraction | None = None
    most: Fraction | None = None

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, Fraction)
        return (self.least is None or self.least <= value) and (self.most is None or value <= self.most)


def quantities_within(bounds: Bounds) -> str:
    """The pattern of quantities within the bounds, in every unit from `m` to `Ei`."""
    within = "|".join(f"{_numbers_within(bounds, _scale(unit))}{unit}" for unit in _UNITS)
    nothing = f"|{_NOTHING}(?:{_UNIT})?" if Fraction(0) in bounds else ""
    return anchored(f"\\+?(?:{within}|{_NUMBER}(?:{_UNCOMPARED})){nothing}")


def quantities_equal_to(values: Iterable[Fraction]) -> str:
    """The pattern of quantities with one of these values, in every unit from `m` to `Ei`."""
    allowed = list(values)
    equal = (f"{_number_equal_to(value / _scale(unit))}{unit}" for value in allowed for unit in _UNITS)
    nothing = f"|{_NOTHING}(?:{_UNIT})?" if Fraction(0) in allowed else ""
    return anchored(f"\\+?(?:{'|'.join(equal)}|{_NUMBER}(?:{_UNCOMPARED})){nothing}")


def whole_numbers_within(bounds: Bounds) -> str:
    """The pattern of whole numbers within the bounds, without a sign or leading zeros."""
    return anchored(f"(?!0[0-9])(?=[0-9]+$){_numbers_within(bounds, Fraction(1))}")


def _scale(unit: str) -> Fraction:
    return parse_quantity(f"1{unit}").value


def _numbers_within(bounds: Bounds, scale: Fraction) -> str:
    """The pattern of decimal numbers whose product with the scale is within the bounds."""
    least = "" if not bounds.least else f"(?={_at_least(bounds.least / scale)}(?![0-9.]))"
    return f"{least}{_at_most(bounds.most / scale) if bounds.most is not None else _NUMBER}"


def _number_equal_to(value: Fraction) -> str:
    before, behind = _decimal(value)
    point = f"\\.{behind}0*" if behind else r"(?:\.0*)?"
    return f"(?=\\.?[0-9])0*{before}{point}"


def _at_most(bound: Fraction) -> str:
    before, behind = _decimal(bound)
    smaller = [f"[0-9]{{0,{len(before) - 1}}}"] if before else []
    smaller += [
        f"{before[:index]}[0-{int(digit) - 1}][0-9]{{{len(before) - index - 1}}}"
        for index, digit in enumerate(before)
        if digit > "0"
    ]
    less = "".join(f"{one}(?:\\.[0-9]*)?|" for one in smaller)
    return f"(?=\\.?[0-9])0*(?:{less}{before}(?:\\.{_fraction_at_most(behind, _DIGITS)})?)"


def _fraction_at_most(digits: str, depth: int) -> str:
    if not digits:
        return "0*"
    if not depth:
        return "[0-9]*"
    less = f"[0-{int(digits[0]) - 1}][0-9]*|" if digits[0] > "0" else ""
    return f"(?:{less}{digits[0]}{_fraction_at_most(digits[1:], depth - 1)})?"


def _at_least(bound: Fraction) -> str:
    before, behind = _decimal(bound)
    larger = [f"[1-9][0-9]{{{len(before)},}}"]
    larger += [
        f"{before[:index]}[{int(digit) + 1}-9][0-9]{{{len(before) - index - 1}}}"
        for index, digit in enumerate(before)
        if digit < "9"
    ]
    more = "".join(f"{one}(?:\\.[0-9]*)?|" for one in larger)
    equal = f"\\.{_fraction_at_least(behind, _DIGITS)}" if behind else r"(?:\.[0-9]*)?"
    return f"0*(?:{more}{before}{equal})"


def _fraction_at_least(digits: str, depth: int) -> str:
    if not digits or not depth:
        return "[0-9]*"
    more = f"[{int(digits[0]) + 1}-9][0-9]*|" if digits[0] < "9" else ""
    return f"(?:{more}{digits[0]}{_fraction_at_least(digits[1:], depth - 1)})"


def _decimal(value: Fraction) -> tuple[str, str]:
    """The digits before and after the point, without leading and trailing zeros.

    The decimals are finite, because units are powers of two and ten.
    """
    before, rest = divmod(value.numerator, value.denominator)
    behind = []
    while rest:
        digit, rest = divmod(rest * 10, value.denominator)
        behind.append(str(digit))
    return str(before) if before else "", "".join(behind)


# Formats

_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = f"{_LABEL}(?:\\.{_LABEL})*"
_NAME: Final = "[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_PLAIN: Final = r"(?!\.$|\.\.)"
"""Not `.` and not a text that begins with `..`."""
_QUALIFIED: Final = f"(?:(?=[^/]{{1,253}}/){_SUBDOMAIN}/)?(?=[^/]{{1,63}}$){_NAME}"
_HOST: Final = r"(?:[A-Za-z0-9][-.A-Za-z0-9]*|\[[A-Fa-f0-9:]+\])(?::[0-9]+)?"
_PART: Final = "[a-z0-9]+(?:(?:[.]|__?|-+)[a-z0-9]+)*"
_TAG: Final = "[A-Za-z0-9_][-A-Za-z0-9_.]{0,127}"
_DIGEST: Final = "[A-Za-z][-_+.A-Za-z0-9]*:[A-Fa-f0-9]{32,}"
_AMOUNT: Final = f"\\+?{_NUMBER}(?:{_UNIT}|{_EXPONENT})?|{_NOTHING}(?:{_UNIT}|{_EXPONENT})?"
_LARGEST_ID: Final = Bounds(Fraction(1), Fraction(2**31 - 1))
_WORDS: Final = "yearly|annually|monthly|weekly|daily|midnight|hourly"
_QUANTITY_RULE: Final = "write a number and at most one suffix, such as 2, 500m, 8G or 8Gi"

FORMAT_PATTERNS: Final[Mapping[str, TextPattern]] = {
    **dict.fromkeys(
        ("annotation-key", "label-key"),
        TextPattern(
            anchored(_QUALIFIED),
            "use letters, digits, -, _ and ., with a letter or digit at both ends; optionally after a DNS name and /",
        ),
    ),
    "config-key": TextPattern(anchored(f"{_PLAIN}[-._A-Za-z0-9]{{1,253}}"), "use letters, digits, _, - and ."),
    "cron": TextPattern(
        anchored(f"[ \\t]*(?:[^ \\t@][^ \\t]*[ \\t]+){{4}}[^ \\t]+[ \\t]*|@(?:{_WORDS})|@every .+"),
        "write minute, hour, day of month, month and day of week, such as 30 4 * * 1-5, or a word such as @daily",
    ),
    "dns-1035-label": TextPattern(
        anchored("[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"),
        "use at most 63 lower-case letters, digits and -; begin with a letter, end with a letter or digit",
    ),
    "dns-label": TextPattern(
        anchored("[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"),
        "use at most 63 lower-case letters, digits and -; begin and end with a letter or digit",
    ),
    "dns-subdomain": TextPattern(
        anchored(f"(?=.{{1,253}}$){_SUBDOMAIN}"),
        "use lower-case letters, digits, - and .; begin and end every part with a letter or digit",
    ),
    "env-name": TextPattern(
        anchored(f"{_PLAIN}[-._A-Za-z][-._A-Za-z0-9]*"),
        "use letters, digits, _, - and ., and do not begin with a digit",
    ),
    "extended-resource": TextPattern(
        anchored(f"(?!requests\\.)(?=[^/]{{1,244}}/){_QUALIFIED}"),
        "write the full resource name, such as nvidia.com/gpu",
    ),
    "base64": TextPattern(
        anchored(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"),
        "encode the file with base64 -w0",
    ),
    "gpu-name": TextPattern(
        anchored(f"(?!(?:requests|limits)$)(?=.{{1,63}}$){_LABEL}"),
        "use at most 63 lower-case letters, digits and -; begin and end with a letter or digit",
    ),
    "image": TextPattern(
        anchored(f"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::{_TAG})?(?:@{_DIGEST})?"),
        "write a name such as registry.example.com/team/app:1.0",
    ),
    "label-value": TextPattern(
        anchored(f"(?=.{{0,63}}$)(?:{_NAME})?"),
        "use at most 63 letters, digits, -, _ and ., and begin and end with a letter or digit",
    ),
    "mount-path": TextPattern(
        anchored(r"(?!.*\/\/)(?!.*\/\.\.?(?:\/|$))\/[^:\n/][^:\n]*"),
        "write an absolute path such as /data, without a colon",
    ),
    **dict.fromkeys(("positive-quantity", "quantity", "whole-number"), TextPattern(anchored(_AMOUNT), _QUANTITY_RULE)),
    "registry": TextPattern(anchored(f"{_HOST}(?:/{_PART})*"), "write, for example, ghcr.io/acme"),
    "resource-name": TextPattern(
        anchored(f"cpu|memory|ephemeral-storage|hugepages-[.0-9A-Za-z]+|(?!requests\\.)(?=[^/]{{1,244}}/){_QUALIFIED}"),
        "write cpu, memory, ephemeral-storage, or the full resource name, such as nvidia.com/gpu",
    ),
    "secret-id": TextPattern(
        anchored(f"{_PLAIN}[-._A-Za-z][-._A-Za-z0-9]{{0,252}}"),
        "write the identifier of a secret: letters, digits, _, - and ., not beginning with a digit",
    ),
    "secret-store": TextPattern(
        anchored(r"[-.a-z0-9]*\{project\}[-.a-z0-9{}]*"), "write a name that contains {project}"
    ),
    "source": TextPattern(
        anchored(r"(?:[A-Za-z][-+.A-Za-z0-9]*://[!-+.-~-]+|(?![/])[!-+.-9;-~-]+)"),
        "write a URL such as git+https://github.com/acme/train, or a file name such as main.py",
    ),
    "sub-path": TextPattern(
        anchored(r"(?!\.\.(?:\/|$))(?!.*\/\.\.(?:\/|$))[^/\n][^\n]*"),
        "write a path relative to the volume, without ..",
    ),
    "user-id": TextPattern(whole_numbers_within(_LARGEST_ID), "write a whole number from 1 to 2147483647"),
}
"""The patterns of formats; those for text with placeholders have none, because their findings are more helpful."""


_ATOM: Final = (
    r"(?:[ !\"#%&',/:;<=>@A-Za-z0-9_`~.^$-]"
    r"|\\[.^$*+?()\[\]{}|/\\]"
    r"|\[\^?(?:[ !\"#%&'()*+,./:;<=>?@A-Za-z0-9_`{|}~$^-]|\\[\]\[\\.^-])+\]"
    r"|\))"
)
_TIMES: Final = r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??(?![*+?{])"
_PORTABLE: Final = re.compile(rf"(?:\((?:\?[:=!])?(?!\?)|\||{_ATOM}(?:{_TIMES})?)*")
"""The syntax of regular expressions that Python and editors share."""
_AHEAD: Final = re.compile(r"\(\?[=!]")
_REPEATED: Final = re.compile(r"\)[*+?{]")
"""Lookaheads and repeated groups: JavaScript does not allow a repeated lookahead."""
_SLOW: Final = re.compile(r"\)[*+{]")
"""Groups that are repeated many times: editors backtrack, so some text could take forever."""


def is_portable(pattern: str) -> bool:
    """Whether a regular expression matches the same single-line texts in Python and JavaScript, and matches fast."""
    if _SLOW.search(pattern) or (_AHEAD.search(pattern) and _REPEATED.search(pattern)):
        return False
    return _PORTABLE.fullmatch(pattern) is not None


# Images

_HUBS: Final = ("docker.io", "index.docker.io")
_LIBRARY: Final = "library"


def images_below(registry: str) -> str:
    """The pattern of images in the registry or the folder of a registry; see `image.is_below`."""
    host, _, path = registry.partition("/")
    if host.lower() not in _HUBS:
        return anchored(f"{in_any_case(host)}/{f'{literal(path)}(?:[/:@].*)?' if path else '.+'}")
    ways = "|".join(_hub_paths(path))
    hosts = "|".join(map(in_any_case, _HUBS))
    # A first part with `.` or `:` is a host.
    return anchored(f"(?:(?:{hosts})/|(?!localhost/|[^/]*[.:][^/]*/))(?:{ways})")


def _hub_paths(path: str) -> Iterator[str]:
    """The patterns of images in a folder of Docker Hub, whose official images are in `library`."""
    if not path:
        yield ".+"
        return
    first, _, rest = path.partition("/")
    if path == _LIBRARY:
        yield "[^/]+"
    elif first == _LIBRARY and "/" not in rest:
        yield f"{literal(rest)}(?:[:@].*)?"
    yield f"{literal(path)}/.+" if path == first else f"{literal(path)}(?:[/:@].*)?"
