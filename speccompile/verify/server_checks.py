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
_NATIVE, _HUGE_PAGES = "kubernetes.io/", "hugepages-"


class Violation(NamedTuple):
    """A fault in a value, or at a path below it."""

    message: str
    help: str | None = None
    path: KeyPath = ()


Keyword: TypeAlias = Callable[[Any, Any], Iterator[Violation]]
"""Check a value; the first argument is that of the keyword in the schema."""


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


def _time(_: Any, value: Any) -> Iterator[Violation]:
    if isinstance(value, str) and not _TIME.fullmatch(value):
        yield Violation(f"{quote(value)} is not a time", "write it like `2026-01-31T09:30:00Z`")


def _base64(_: Any, value: Any) -> Iterator[Violation]:
    if isinstance(value, str) and not _BASE64.fullmatch(re.sub(r"[\r\n]", "", value)):
        yield Violation("this is not base64", "encode it; in a Secret, plain text goes into `stringData`")


def _resources(_: Any, value: Any) -> Iterator[Violation]:
    """Requests must not exceed limits; devices and huge pages need equal values, and devices whole numbers."""
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


def _unknown_resources(side: str, resources: Any) -> Iterator[Violation]:
    for name in resources if isinstance(resources, dict) else ():
        if "/" not in name and name not in _CONTAINERS and not name.startswith(_HUGE_PAGES):
            suggestion = _COMMON_NAMES.get(name.casefold()) or near(name, _CONTAINERS)
            help_text = (
                f"did you mean `{suggestion}`?" if suggestion else "add the domain of the device: `example.com/…`"
            )
            yield Violation(f"unknown resource {quote(name)}", help_text, (side, name))


def _amounts(resources: Any) -> dict[str, Quantity]:
    """The valid quantities; the others are reported separately."""
    read = {name: _amount(value) for name, value in resources.items()} if isinstance(resources, dict) else {}
    return {name: amount for name, amount in read.items() if amount is not None}


def _amount(value: Any) -> Quantity | None:
    return _read(value) if isinstance(value, str | int | float) else None


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
KEYWORDS: Mapping[str, Keyword] = {
    "x-base64": _base64,
    "x-options": _options,
    "x-quantity": _quantity,
    "x-required": _required,
    "x-resources": _resources,
    "x-time": _time,
}
"""`kubernetes_api.py` adds these keywords to the schemas."""
