"""Checks of the API server that JSON Schema cannot express."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.quantity import Quantity, QuantityError, parse_quantity
from speccompile.schema.formats.by_name import FORMAT_CHECKS
from speccompile.schema.formats.text_format import ValueFault
from speccompile.schema.suggestions import near

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)
_TIME = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3])(:[0-5][0-9]){2}([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-5][0-9])",
    re.ASCII,
)
_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
"""Resources of containers without a domain, besides huge pages."""
_COMMON_NAMES = {"gpu": "nvidia.com/gpu", "gpus": "nvidia.com/gpu", "mem": "memory", "disk": "ephemeral-storage"}
"""Common wrong names, including the fields of runs."""
_LONGEST_CACHED = 256
_NATIVE, _HUGE_PAGES = "kubernetes.io/", "hugepages-"


class Violation(NamedTuple):
    """A fault in a value, or at a path below it."""

    message: str
    help: str | None = None
    path: KeyPath = ()


Keyword: TypeAlias = Callable[[Any, Any], Iterator[Violation]]
"""Check a value; the first argument is that of the keyword in the schema."""
TextCheck: TypeAlias = Callable[[str], ValueFault | None]
"""The fault of a text."""
Check: TypeAlias = Callable[[Any], Iterator[Violation]]
"""Check a value; wrong types are reported by the schema."""


def items(parent: Any, name: str) -> list[tuple[int, Mapping[str, Any]]]:
    """The mappings in a list with their positions; null is empty, and other types are reported by the schema."""
    entries = list_or_empty(parent.get(name) if isinstance(parent, dict) else None)
    return [(index, one or {}) for index, one in enumerate(entries) if one is None or isinstance(one, dict)]


def list_or_empty(value: Any) -> list[Any]:
    """The list; empty for other types."""
    return value if isinstance(value, list) else []


def mapping(parent: Any, *path: str) -> Mapping[str, Any]:
    """The mapping at a path; empty if there is none."""
    for name in path:
        parent = parent.get(name) if isinstance(parent, dict) else None
    return parent if isinstance(parent, dict) else {}


def _quantity(_: Any, value: Any) -> Iterator[Violation]:
    amount = _amount(value)
    if amount is None or amount.nano < 0:
        fault = FORMAT_CHECKS["quantity"](value)
        # A server silently reduces amounts that are too large.
        if fault and not fault.message.endswith("out of range"):
            yield Violation(fault.message, fault.help)


def _options(options: Sequence[str], value: Any) -> Iterator[Violation]:
    if isinstance(value, str) and value not in options:
        named = [option for option in options if option]
        suggestion = near(value, named)
        names = ", ".join(f"`{option}`" for option in named)
        yield Violation(
            f"expected one of {names}, found {quote(value)}", f"did you mean `{suggestion}`?" if suggestion else None
        )


def _required(required: Sequence[str], value: Any) -> Iterator[Violation]:
    """A server reads null as missing."""
    missing = [name for name in required if value.get(name) is None] if isinstance(value, dict) else []
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        yield Violation(f"missing {names}", f"add {names}")


def _filled(names: Sequence[str], value: Any) -> Iterator[Violation]:
    """A server does not distinguish an empty value from a missing one."""
    yield from _required(names, value)
    for name in names if isinstance(value, dict) else ():
        if value.get(name) is not None and not value[name]:
            yield Violation(f"`{name}` is empty", f"set `{name}`", (name,))


def _format(fault_of: TextCheck, value: Any) -> Iterator[Violation]:
    """Text that the server reads as missing if it is empty."""
    if isinstance(value, str) and value and (fault := text_fault(fault_of, value)):
        yield Violation(fault.message, fault.help)


def _nonempty(_: Any, value: Any) -> Iterator[Violation]:
    if value == "":
        yield Violation("this is empty", "set a value, or remove the key")


def _keys(fault_of: TextCheck, value: Any) -> Iterator[Violation]:
    for key in value if isinstance(value, dict) else ():
        if fault := text_fault(fault_of, key):
            yield Violation(fault.message, fault.help, (key,))


def text_fault(fault_of: TextCheck, text: str) -> ValueFault | None:
    """The fault of a text, from a cache if the text is short."""
    return _short_text_fault(fault_of, text) if len(text) <= _LONGEST_CACHED else fault_of(text)


# Many objects have the same names and labels.
@lru_cache(maxsize=4096)
def _short_text_fault(fault_of: TextCheck, text: str) -> ValueFault | None:
    return fault_of(text)


def _at_most_one(names: Sequence[str], value: Any) -> Iterator[Violation]:
    present = [name for name in names if value.get(name) is not None] if isinstance(value, dict) else []
    if len(present) > 1:
        names_text = " and ".join(f"`{name}`" for name in present)
        yield Violation(f"{names_text} exclude each other", "keep one of them", (present[1],))


def _exactly_one(names: Sequence[str], value: Any) -> Iterator[Violation]:
    if isinstance(value, dict) and all(value.get(name) is None for name in names):
        yield Violation(f"missing one of {', '.join(f'`{name}`' for name in names)}", "add one of them")
    yield from _at_most_one(names, value)


def _unique(keys: Sequence[str], value: Any) -> Iterator[Violation]:
    """Items must differ in one of the keys; items with none of them are not compared."""
    seen = set()
    for index, item in enumerate(value if isinstance(value, list) else ()):
        identity = [quote(f"{key}: {item[key]}") for key in keys if item.get(key)] if isinstance(item, dict) else []
        text = " and ".join(identity)
        if text in seen:
            yield Violation(f"duplicate {text}", "change or remove one of them", (index,))
        seen.update({text} - {""})


def _checked(checks: Sequence[Check], value: Any) -> Iterator[Violation]:
    if isinstance(value, dict):
        for check in checks:
            yield from check(value)


def _value(check: Check, value: Any) -> Iterator[Violation]:
    return check(value)


def _time(_: Any, value: Any) -> Iterator[Violation]:
    if isinstance(value, str) and not _TIME.fullmatch(value):
        yield Violation(f"{quote(value)} is not a time", "write it like `2026-01-31T09:30:00Z`")


def _base64(_: Any, value: Any) -> Iterator[Violation]:
    if isinstance(value, str) and not _BASE64.fullmatch(re.sub(r"[\r\n]", "", value)):
        yield Violation("this is not base64", "encode it; in a Secret, plain text goes into `stringData`")


def _resources(_: Any, value: Any) -> Iterator[Violation]:
    """Requests must not exceed limits; devices and huge pages need equal values, and devices whole numbers.

    Huge pages are whole pages, and come with CPU or memory.
    """
    if not isinstance(value, dict):
        return
    for side in ("requests", "limits"):
        yield from _unknown_resources(side, value.get(side))
    requests, limits = _amounts(value.get("requests")), _amounts(value.get("limits"))
    for name, amount in requests.items():
        path, limit, must_be_equal = (
            ("requests", name),
            limits.get(name),
            _is_extended(name) or name.startswith(_HUGE_PAGES),
        )
        if limit is None and must_be_equal:
            yield Violation(f"{quote(name)} has a request but no limit", f"add a limit of `{amount.text}`", path)
        elif limit is not None and (amount > limit or (must_be_equal and amount != limit)):
            fault, help_text = (
                ("differs from", "set both to the same value") if must_be_equal else ("is above", "lower it")
            )
            yield Violation(f"the request of `{amount.text}` {fault} the limit of `{limit.text}`", help_text, path)
    for side, amounts in (("requests", requests), ("limits", limits)):
        for name, amount in amounts.items():
            if _is_extended(name) and not amount.is_whole:
                yield Violation(f"{quote(amount.text)} is not a whole number", None, (side, name))
            size = _read(name.removeprefix(_HUGE_PAGES)) if name.startswith(_HUGE_PAGES) else None
            if size and size.nano > 0 and amount.nano % size.nano:
                message = f"{quote(amount.text)} is not a multiple of the page size {quote(size.text)}"
                yield Violation(message, "write a multiple of it", (side, name))
    has_pages = any(name.startswith(_HUGE_PAGES) for name in (*requests, *limits))
    if has_pages and {*requests, *limits}.isdisjoint(("cpu", "memory")):
        yield Violation("huge pages need `cpu` or `memory`", "add one of them to `requests` or `limits`")


def _unknown_resources(side: str, resources: Any) -> Iterator[Violation]:
    for name in resources if isinstance(resources, dict) else ():
        if "/" not in name and name not in _CONTAINERS and not name.startswith(_HUGE_PAGES):
            suggestion = _COMMON_NAMES.get(name.casefold()) or near(name, _CONTAINERS)
            help_text = (
                f"did you mean `{suggestion}`?" if suggestion else "add the domain of the device: `example.com/…`"
            )
            yield Violation(f"unknown resource {quote(name)}", help_text, (side, name))
        elif fault := FORMAT_CHECKS["resource-name"](name):
            yield Violation(fault.message, fault.help, (side, name))


def _amounts(resources: Any) -> dict[str, Quantity]:
    """The valid quantities; the others are reported separately."""
    read = {name: _amount(value) for name, value in resources.items()} if isinstance(resources, dict) else {}
    return {name: amount for name, amount in read.items() if amount is not None}


def _amount(value: Any) -> Quantity | None:
    """A server reads null as zero."""
    return _read(0 if value is None else value) if isinstance(value, str | int | float | None) else None


# Many runs request the same amounts.
@lru_cache(maxsize=1024, typed=True)
def _read(value: str | float) -> Quantity | None:
    try:
        return parse_quantity(value)
    except QuantityError:
        return None


def _is_extended(name: str) -> bool:
    return "/" in name and _NATIVE not in name


UNLESS_NULL = "x-unless-null"
"""A schema keyword: its schema applies to values other than null."""
NULL_ITEM = "x-null-item"
"""A schema keyword of lists: what the server reads an item that is null as."""
KEYWORDS: Mapping[str, Keyword] = {
    "x-at-most-one": _at_most_one,
    "x-base64": _base64,
    "x-checks": _checked,
    "x-exactly-one": _exactly_one,
    "x-filled": _filled,
    "x-format": _format,
    "x-keys": _keys,
    "x-nonempty": _nonempty,
    "x-options": _options,
    "x-quantity": _quantity,
    "x-required": _required,
    "x-resources": _resources,
    "x-time": _time,
    "x-unique": _unique,
    "x-value": _value,
}
"""`kubernetes_api.py` adds these keywords to the schemas."""
