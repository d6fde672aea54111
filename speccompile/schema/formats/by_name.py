"""Checks for `format` by name, which reject what Kubernetes would reject."""

import re
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from speccompile.model.diagnostic import quote
from speccompile.model.quantity import NANOS, Quantity, QuantityError, parse_quantity
from speccompile.schema.formats.cron import cron_fault
from speccompile.schema.formats.image import image_fault, registry_fault
from speccompile.schema.formats.names import (
    LABEL_NAME,
    LONGEST_SUBDOMAIN,
    alias_pattern_fault,
    annotation_key_fault,
    config_key_fault,
    dns_1035_label_fault,
    dns_label_fault,
    dns_subdomain_fault,
    env_name_fault,
    gpu_name_fault,
    key_prefix_fault,
    label_key_fault,
    label_key_pattern_fault,
    label_value_fault,
    name_pattern_fault,
    placeholders_fault,
    port_pattern_fault,
    qualified_name_fault,
    secret_id_fault,
    secret_store_fault,
    volume_pattern_fault,
)
from speccompile.schema.formats.text_format import ValueFault, shape_fault, too_long, with_suggestion


def _on_text(check: Callable[[str], ValueFault | None]) -> Callable[[object], ValueFault | None]:
    """The check for any value; a value that is not a string is left to the schema's `type`."""
    return lambda value: check(value) if isinstance(value, str) else None


def _on_amount(check: Callable[[str | float], ValueFault | None]) -> Callable[[object], ValueFault | None]:
    """The check for any value; one that is neither a string nor a number is left to the schema's `type`."""
    return lambda value: check(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _unprintable(text: str) -> ValueFault | None:
    if text.isprintable():
        return None
    char = next(char for char in text if not char.isprintable())
    return ValueFault(f"{quote(text)} contains the unprintable character {quote(char)}", "remove the character")


def _quantity_or_fault(value: str | float) -> Quantity | ValueFault:
    try:
        quantity = parse_quantity(value)
    except QuantityError as error:
        return ValueFault(error.message, error.help)
    if quantity.nano < 0:
        return ValueFault(f"{quote(quantity.text)} is negative", "write an amount of zero or more")
    return quantity


def _quantity(value: str | float) -> ValueFault | None:
    """An amount such as `500m`, `2` or `8Gi`, zero or more."""
    found = _quantity_or_fault(value)
    return found if isinstance(found, ValueFault) else None


def _positive_quantity(value: str | float) -> ValueFault | None:
    """An amount above zero: Kubernetes rejects a claim of size zero."""
    found = _quantity_or_fault(value)
    if isinstance(found, ValueFault):
        return found
    return None if found.nano else ValueFault(f"{quote(found.text)} is zero", "write an amount above zero")


_LARGEST_COUNT: Final = (2**63 - 1) // 1000
"""Kubernetes counts in thousandths, in 64 bits."""


def _whole_number(value: str | float) -> ValueFault | None:
    """A quantity that is a whole number, for resources that are not divisible, such as GPUs."""
    found = _quantity_or_fault(value)
    if isinstance(found, ValueFault):
        return found
    if found.nano > _LARGEST_COUNT * NANOS:
        return ValueFault(f"{quote(found.text)} is out of range", f"the largest count is `{_LARGEST_COUNT}`")
    if found.is_whole:
        return None
    return ValueFault(
        f"{quote(found.text)} is not a whole number",
        f"write a whole number, such as `{-(-found.nano // NANOS)}`",
    )


_CONTAINER_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"
# Quotas have this prefix before the resource name, and both together must be a valid name.
_QUOTA_PREFIX: Final = "requests."
_RESOURCE_MEANT: Final = {
    **{name: name for name in _CONTAINER_RESOURCES},
    **dict.fromkeys(("cpus", "core", "cores"), "cpu"),
    **dict.fromkeys(("mem", "ram"), "memory"),
    **dict.fromkeys(("disk", "storage", "scratch"), "ephemeral-storage"),
}
_RESOURCE_RULE: Final = "write the full resource name, such as `nvidia.com/gpu`"


def _resource_name(text: str) -> ValueFault | None:
    """A resource of containers: `cpu`, `memory`, `ephemeral-storage`, huge pages or `domain/name`."""
    if text in _CONTAINER_RESOURCES:
        return None
    if text.startswith(_HUGE_PAGES):
        return _huge_pages_fault(text)
    prefix, slash, _ = text.partition("/")
    if not slash:
        meant = _RESOURCE_MEANT.get(text.lower())
        return ValueFault(f"{quote(text)} is not a resource name", f"write `{meant}`" if meant else _RESOURCE_RULE)
    if prefix.startswith(_QUOTA_PREFIX):
        return ValueFault(f"{quote(text)} begins with `{_QUOTA_PREFIX}`", f"remove `{_QUOTA_PREFIX}`")
    longest = LONGEST_SUBDOMAIN - len(_QUOTA_PREFIX)
    return too_long(prefix, "the part of a resource name before `/`", longest) or qualified_name_fault(
        text, LABEL_NAME._replace(what="a resource name")
    )


def _extended_resource(text: str) -> ValueFault | None:
    """A resource with a domain in its name; the others are built into Kubernetes."""
    if "/" not in text:
        return ValueFault(f"{quote(text)} is not the name of an extended resource", _RESOURCE_RULE)
    return _resource_name(text)


def _huge_pages_fault(text: str) -> ValueFault | None:
    if fault := shape_fault(text, LABEL_NAME._replace(what="a resource name")):
        return fault
    size = _quantity_or_fault(text.removeprefix(_HUGE_PAGES))
    if isinstance(size, ValueFault):
        return size
    if size.nano == 0:
        return ValueFault(f"{quote(text)} has no page size", "write a size, such as `hugepages-2Mi`")
    if not size.is_whole or size.nano > _LARGEST_COUNT * NANOS:
        return ValueFault(f"{quote(text)} has an impossible page size", "write a size, such as `hugepages-2Mi`")
    return None


_LONGEST_PATH: Final = 4096


def _path_fault(text: str, what: str) -> ValueFault | None:
    """The faults common to mount paths and sub-paths."""
    if fault := too_long(text, what, _LONGEST_PATH) or _unprintable(text):
        return fault
    if ".." in text.split("/"):
        return ValueFault(f"{quote(text)} contains `..`", "write the path without `..`")
    return None


def _mount_path(text: str) -> ValueFault | None:
    """An absolute path inside the container; one slash at the end is allowed."""
    if not text.startswith("/"):
        return ValueFault(f"{quote(text)} is not an absolute path", "begin with `/`, such as `/data`")
    if fault := _path_fault(text, "a mount path"):
        return fault
    if ":" in text:
        return ValueFault(f"{quote(text)} contains `:`", "remove `:`, which Kubernetes rejects in a mount path")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not parts:
        return ValueFault(f"{quote(text)} is the container's root", "mount at a directory below it, such as `/data`")
    cleaned = "/" + "/".join(parts)
    if text not in (cleaned, f"{cleaned}/"):
        return ValueFault(
            f"{quote(text)} has an empty or a `.` segment",
            with_suggestion(cleaned, "write single slashes, and no `.` between them"),
        )
    return None


def _sub_path(text: str) -> ValueFault | None:
    """A path relative to the volume's root."""
    if not text:
        return ValueFault("the sub-path is empty", "remove it to mount the whole volume")
    if text.startswith("/"):
        return ValueFault(f"{quote(text)} is an absolute path", "write it relative to the volume, without `/` in front")
    return _path_fault(text, "a sub-path")


def _base64(text: str) -> ValueFault | None:
    """Text in UTF-8 as base64; anything else cannot be a file of a ConfigMap."""
    try:
        decoded = a2b_base64(text, strict_mode=True).decode("utf-8")
    except ValueError:
        return ValueFault("this is not UTF-8 text in base64", "encode the file with `base64 -w0 FILE`")
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", decoded):
        return ValueFault("the decoded text contains control characters", "encode a text file")
    return None


_LONGEST_FILE_NAME: Final = 180
"""The name in base64 is the key of a ConfigMap, which has at most 253 characters."""


def _source(text: str) -> ValueFault | None:
    """A URL, or a file name relative to the function's directory; written to a list of files, one per line."""
    if not text:
        return ValueFault("the source is empty", "remove it, or write a URL or a file name")
    if len(text) > _LONGEST_FILE_NAME and "://" not in text:
        return too_long(text, "a file name", _LONGEST_FILE_NAME)
    if not text.isascii() or not text.isprintable() or " " in text or "," in text:
        return ValueFault(
            f"{quote(text)} contains a space, a comma, or a character that is not ASCII",
            "write a URL or a file name without them",
        )
    if re.match(r"[A-Za-z][-+.A-Za-z0-9]*://.", text):
        return None
    if ":" in text or text.startswith("/"):
        return ValueFault(
            f"{quote(text)} is neither a URL nor a relative file name",
            "write, for example, `git+https://github.com/acme/train` or `main.py`",
        )
    return _path_fault(text, "a file name")


_LARGEST_USER_ID: Final = 2**31 - 1
_USER_ID: Final = r"0|-?[1-9][0-9]{0,18}"
_ZEROS_IN_FRONT: Final = r"0[0-9]+"
_USER_ID_RULE: Final = f"write a whole number from 1 to {_LARGEST_USER_ID}"


def _user_id(value: str | float) -> ValueFault | None:
    """The id of a user other than root, as a number or in digits.

    A float such as `1000.0` is an integer to JSON Schema, but Kubernetes rejects it.
    """
    if isinstance(value, float):
        return ValueFault(f"`{value}` is not written as an integer", _USER_ID_RULE) if value.is_integer() else None
    if isinstance(value, str) and re.fullmatch(_ZEROS_IN_FRONT, value):
        return ValueFault(f"{quote(value)} has zeros in front", _USER_ID_RULE)
    if isinstance(value, str) and not re.fullmatch(_USER_ID, value):
        return ValueFault(f"{quote(value)} is not a user or group id", _USER_ID_RULE)
    number = int(value)
    if number == 0:
        return ValueFault("user or group id 0 is root, which is not allowed", _USER_ID_RULE)
    if number < 0:
        return ValueFault("a user or group id cannot be negative", _USER_ID_RULE)
    return None if number <= _LARGEST_USER_ID else ValueFault("the user or group id is out of range", _USER_ID_RULE)


FORMAT_CHECKS: Final[Mapping[str, Callable[[object], ValueFault | None]]] = {
    "alias-pattern": _on_text(alias_pattern_fault),
    "annotation-key": _on_text(annotation_key_fault),
    "config-key": _on_text(config_key_fault),
    "base64": _on_text(_base64),
    "cron": _on_text(cron_fault),
    "dns-1035-label": _on_text(dns_1035_label_fault),
    "dns-label": _on_text(dns_label_fault),
    "dns-subdomain": _on_text(dns_subdomain_fault),
    "env-name": _on_text(env_name_fault),
    "extended-resource": _on_text(_extended_resource),
    "gpu-name": _on_text(gpu_name_fault),
    "image": _on_text(image_fault),
    "key-prefix": _on_text(key_prefix_fault),
    "label-key": _on_text(label_key_fault),
    "label-key-pattern": _on_text(label_key_pattern_fault),
    "label-value": _on_text(label_value_fault),
    "mount-path": _on_text(_mount_path),
    "name-pattern": _on_text(name_pattern_fault),
    "placeholders": _on_text(placeholders_fault),
    "port-pattern": _on_text(port_pattern_fault),
    "positive-quantity": _on_amount(_positive_quantity),
    "quantity": _on_amount(_quantity),
    "registry": _on_text(registry_fault),
    "resource-name": _on_text(_resource_name),
    "secret-id": _on_text(secret_id_fault),
    "secret-store": _on_text(secret_store_fault),
    "source": _on_text(_source),
    "sub-path": _on_text(_sub_path),
    "user-id": _on_amount(_user_id),
    "volume-pattern": _on_text(volume_pattern_fault),
    "whole-number": _on_amount(_whole_number),
}
"""The checks by the name of the `format`: each returns the fault of a value, or None if there is none or the format
does not apply to values of its type."""

QUANTITIES: Final = frozenset({"positive-quantity", "quantity", "whole-number"})
"""The formats of quantities, which may be a plain `1e3`."""


_LONGEST_CACHED: Final = 256
"""Longer texts are not cached, so that the cache stays small."""
_CACHE_SIZE: Final = 4096


@lru_cache(maxsize=64)
def format_check(name: str) -> Callable[[object], bool]:
    """The function that returns whether a value has the format; it caches results, because values repeat."""
    check = FORMAT_CHECKS[name]

    def has_format(value: object) -> bool:
        if isinstance(value, str) and len(value) > _LONGEST_CACHED:
            return check(value) is None
        return _has_format(name, value)

    return has_format


@lru_cache(maxsize=_CACHE_SIZE, typed=True)
def _has_format(name: str, value: object) -> bool:
    return FORMAT_CHECKS[name](value) is None
