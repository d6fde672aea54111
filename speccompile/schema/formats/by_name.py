"""Takes a value and the name of a format, gives what Kubernetes would refuse about it."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

from speccompile.model.diagnostic import shown
from speccompile.model.object_names import PLACEHOLDER, PLACEHOLDERS, placeholders
from speccompile.model.quantity import NANOS, Quantity, QuantityError, parse_quantity
from speccompile.schema.formats.cron import cron_fault
from speccompile.schema.formats.image import image_fault, registry_fault
from speccompile.schema.formats.text_format import Fault, Shape, shape_fault, too_long, with_suggestion

_LONGEST_LABEL: Final = 63
_LONGEST_SUBDOMAIN: Final = 253


def _on_text(check: Callable[[str], Fault | None]) -> Callable[[object], Fault | None]:
    """The check for any value: what is not a string is left to the schema's `type`."""
    return lambda value: check(value) if isinstance(value, str) else None


def _on_amount(check: Callable[[str | float], Fault | None]) -> Callable[[object], Fault | None]:
    """The check for any value: what is neither a string nor a number is left to the schema's `type`."""
    return lambda value: check(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _unprintable(text: str) -> Fault | None:
    if text.isprintable():
        return None
    char = next(char for char in text if not char.isprintable())
    return Fault(f"{shown(text)} contains the unprintable character {shown(char)}", "leave the character out")


def _quantity_or_fault(value: str | float) -> Quantity | Fault:
    try:
        quantity = parse_quantity(value)
    except QuantityError as error:
        return Fault(error.message, error.help)
    if quantity.nano < 0:
        return Fault(f"{shown(quantity.text)} is negative", "write an amount of zero or more")
    return quantity


def _quantity(value: str | float) -> Fault | None:
    """An amount such as `500m`, `2` or `8Gi`, zero or more."""
    found = _quantity_or_fault(value)
    return found if isinstance(found, Fault) else None


def _positive_quantity(value: str | float) -> Fault | None:
    """An amount of more than nothing, for what Kubernetes makes: it refuses a claim of no size."""
    found = _quantity_or_fault(value)
    if isinstance(found, Fault):
        return found
    return None if found.nano else Fault(f"{shown(found.text)} is nothing", "write an amount above zero")


def _whole_number(value: str | float) -> Fault | None:
    """A quantity that is a whole number, for what comes in pieces, such as GPUs."""
    found = _quantity_or_fault(value)
    if isinstance(found, Fault):
        return found
    if found.is_whole:
        return None
    return Fault(
        f"{shown(found.text)} is not a whole number",
        f"write a whole number, such as `{-(-found.nano // NANOS)}`",
    )


_DNS_LABEL: Final = Shape(
    "a DNS label",
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?",
    _LONGEST_LABEL,
    "use lower-case letters, digits and `-`, and begin and end with a letter or digit",
)
_DNS_1035_LABEL: Final = Shape(
    "a service name",
    r"[a-z](?:[-a-z0-9]*[a-z0-9])?",
    _LONGEST_LABEL,
    "use lower-case letters, digits and `-`, begin with a letter and end with a letter or digit",
)
_DNS_SUBDOMAIN: Final = Shape(
    "a DNS name",
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*",
    _LONGEST_SUBDOMAIN,
    "use lower-case letters, digits, `-` and `.`, and begin and end every part with a letter or digit",
)
_ENV_NAME: Final = Shape(
    "an environment variable name",
    r"[-._A-Za-z][-._A-Za-z0-9]*",
    None,
    "use letters, digits, `_`, `-` and `.`, and do not begin with a digit",
)
_SECRET_ID: Final = Shape(
    "a secret's name",
    r"[-._A-Za-z][-._A-Za-z0-9]*",
    _LONGEST_SUBDOMAIN,
    "use letters, digits, `_`, `-` and `.`, and no digit in front: it becomes an environment variable name",
)
_CONFIG_KEY: Final = Shape(
    "a config key",
    r"[-._A-Za-z0-9]+",
    _LONGEST_SUBDOMAIN,
    "use letters, digits, `_`, `-` and `.`",
)
_LABEL_NAME: Final = Shape(
    "a label name",
    r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?",
    _LONGEST_LABEL,
    "use letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit",
)
_LABEL_VALUE: Final = _LABEL_NAME._replace(what="a label value")
_LABEL_PREFIX: Final = _DNS_SUBDOMAIN._replace(what="a DNS name before `/`")

_NOT_IN_DNS: Final = r"[^a-z0-9.]+"


def _dns_spelling(text: str) -> str:
    """The text as near to a DNS name as changing case and separators brings it."""
    return re.sub(_NOT_IN_DNS, "-", text.lower()).strip("-") if text.isascii() else ""


def _label_spelling(text: str) -> str:
    return _dns_spelling(text).replace(".", "-")


def _dns_label(text: str) -> Fault | None:
    return shape_fault(text, _DNS_LABEL, _label_spelling)


def _dns_1035_label(text: str) -> Fault | None:
    return shape_fault(text, _DNS_1035_LABEL, _label_spelling)


def _dns_subdomain(text: str) -> Fault | None:
    return shape_fault(text, _DNS_SUBDOMAIN, _dns_spelling)


def _parent_fault(text: str) -> Fault | None:
    """The fault of a name that would walk out of the directory it becomes a file name in."""
    if text == "." or text.startswith(".."):
        return Fault(f"{shown(text)} is `.` or begins with `..`", "begin with another character")
    return None


def _env_name(text: str) -> Fault | None:
    return _parent_fault(text) or shape_fault(text, _ENV_NAME)


def _secret_id(text: str) -> Fault | None:
    return _parent_fault(text) or shape_fault(text, _SECRET_ID)


def _secret_store(text: str) -> Fault | None:
    """The name of a Secret in which `{project}` stands for the project."""
    if "{project}" not in text:
        return Fault(f"{shown(text)} does not say `{{project}}`", "projects must not share a store: add `{project}`")
    return shape_fault(text.replace("{project}", "p"), _DNS_SUBDOMAIN._replace(what="the name of a Secret"))


def _config_key(text: str) -> Fault | None:
    return _parent_fault(text) or shape_fault(text, _CONFIG_KEY)


def _label_key(text: str) -> Fault | None:
    return _qualified(text, _LABEL_NAME)


def _annotation_key(text: str) -> Fault | None:
    return _qualified(text, _LABEL_NAME._replace(what="an annotation name"))


def _qualified(text: str, shape: Shape) -> Fault | None:
    """A name, or a DNS name, `/` and a name."""
    prefix, slash, name = text.partition("/")
    if not slash:
        return shape_fault(text, shape)
    return shape_fault(prefix, _LABEL_PREFIX, _dns_spelling) or shape_fault(name, shape)


def _label_key_pattern(text: str) -> Fault | None:
    """A label key in which `{label_prefix}` may stand for the platform's prefix."""
    return _placeholders(text, ("label_prefix",)) or _label_key(text.replace("{label_prefix}", "p"))


def _placeholders(text: str, known: Iterable[str] = PLACEHOLDERS) -> Fault | None:
    """Text in which names in braces stand for facts of the run."""
    unknown = next((name for name in placeholders(text) if name not in known), None)
    if unknown is None:
        return None
    return Fault(f"`{{{unknown}}}` stands for nothing", f"use {', '.join(f'`{{{name}}}`' for name in known)}")


def _name_pattern(text: str, *others: str) -> Fault | None:
    """A pattern that a name or label value is made by; `others` are what else may stand in braces."""
    if fault := _placeholders(text, (*PLACEHOLDERS, "workload", *others)):
        return fault
    fault = shape_fault(PLACEHOLDER.sub("p", text), _LABEL_VALUE) if text else None
    return Fault(f"{shown(text)} makes no name that Kubernetes accepts", fault.help) if fault else None


def _alias_pattern(text: str) -> Fault | None:
    return _name_pattern(text, "service_name")


def _volume_pattern(text: str) -> Fault | None:
    return _name_pattern(text, "volume")


_PORT_NAME: Final = Shape(
    "the name of a port",
    r"(?=[0-9-]*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*",
    15,
    "use lower-case letters, digits and single `-`, with a letter among them, and begin and end with a letter or digit",
)
_LONGEST_PORT: Final = "65535"


def _port_pattern(text: str) -> Fault | None:
    """A pattern that the name of a port is made by, whatever its number."""
    if fault := _placeholders(text, ("port",)):
        return fault
    fault = shape_fault(text.replace("{port}", _LONGEST_PORT), _PORT_NAME)
    return Fault(f"{shown(text)} makes no name of a port", fault.help) if fault else None


def _gpu_name(text: str) -> Fault | None:
    """A name for a kind of GPU, beside the two that `gpu` itself knows."""
    if text in ("requests", "limits"):
        return Fault(f"{shown(text)} means something else in `gpu`", "use another name")
    return _dns_label(text)


def _label_value(text: str) -> Fault | None:
    return shape_fault(text, _LABEL_VALUE) if text else None


_CONTAINER_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"
# Kubernetes keeps quotas of a resource under its name behind this prefix, which has to fit as well.
_QUOTA_PREFIX: Final = "requests."
_RESOURCE_MEANT: Final = {
    **{name: name for name in _CONTAINER_RESOURCES},
    **dict.fromkeys(("cpus", "core", "cores"), "cpu"),
    **dict.fromkeys(("mem", "ram"), "memory"),
    **dict.fromkeys(("disk", "storage", "scratch"), "ephemeral-storage"),
}
_RESOURCE_RULE: Final = "write the full resource name, such as `nvidia.com/gpu`"


def _resource_name(text: str) -> Fault | None:
    """What a container can ask for: `cpu`, `memory`, `ephemeral-storage`, huge pages or `domain/name`."""
    if text in _CONTAINER_RESOURCES:
        return None
    if text.startswith(_HUGE_PAGES):
        return _huge_pages_fault(text)
    prefix, slash, _ = text.partition("/")
    if not slash:
        meant = _RESOURCE_MEANT.get(text.lower())
        return Fault(f"{shown(text)} is not a resource name", f"write `{meant}`" if meant else _RESOURCE_RULE)
    if prefix.startswith(_QUOTA_PREFIX):
        return Fault(f"{shown(text)} begins with `{_QUOTA_PREFIX}`", f"leave out `{_QUOTA_PREFIX}`")
    longest = _LONGEST_SUBDOMAIN - len(_QUOTA_PREFIX)
    return too_long(prefix, "the part of a resource name before `/`", longest) or _qualified(
        text, _LABEL_NAME._replace(what="a resource name")
    )


def _extended_resource(text: str) -> Fault | None:
    """A resource that has a domain in its name: the others are Kubernetes' own."""
    if "/" not in text:
        return Fault(f"{shown(text)} is not the name of an extended resource", _RESOURCE_RULE)
    return _resource_name(text)


def _huge_pages_fault(text: str) -> Fault | None:
    if fault := shape_fault(text, _LABEL_NAME._replace(what="a resource name")):
        return fault
    size = _quantity_or_fault(text.removeprefix(_HUGE_PAGES))
    if isinstance(size, Fault):
        return size
    if size.nano == 0:
        return Fault(f"{shown(text)} has no page size", "write a size, such as `hugepages-2Mi`")
    return None


_LONGEST_PATH: Final = 4096


def _path_fault(text: str, what: str) -> Fault | None:
    """The faults that mount paths and sub-paths share."""
    if fault := too_long(text, what, _LONGEST_PATH) or _unprintable(text):
        return fault
    if ".." in text.split("/"):
        return Fault(f"{shown(text)} contains `..`", "write the path without `..`")
    return None


def _mount_path(text: str) -> Fault | None:
    """An absolute path inside the container; one slash at the end is left alone."""
    if not text.startswith("/"):
        return Fault(f"{shown(text)} is not an absolute path", "begin with `/`, such as `/data`")
    if fault := _path_fault(text, "a mount path"):
        return fault
    if ":" in text:
        return Fault(f"{shown(text)} contains `:`", "Kubernetes accepts no `:` in a mount path")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not parts:
        return Fault(f"{shown(text)} is the container's root", "mount at a directory below it, such as `/data`")
    cleaned = "/" + "/".join(parts)
    if text not in (cleaned, f"{cleaned}/"):
        return Fault(
            f"{shown(text)} has an empty or a `.` segment",
            with_suggestion(cleaned, "write single slashes, and no `.` between them"),
        )
    return None


def _sub_path(text: str) -> Fault | None:
    """A path relative to the volume's root."""
    if not text:
        return Fault("the sub-path is empty", "leave the sub-path out to mount the whole volume")
    if text.startswith("/"):
        return Fault(f"{shown(text)} is an absolute path", "write it relative to the volume, without `/` in front")
    return _path_fault(text, "a sub-path")


_LARGEST_USER_ID: Final = 2**31 - 1
_USER_ID: Final = r"0|-?[1-9][0-9]{0,18}"
_ZEROS_IN_FRONT: Final = r"0[0-9]+"
_USER_ID_RULE: Final = f"write a whole number from 1 to {_LARGEST_USER_ID}"


def _user_id(value: str | float) -> Fault | None:
    """The number of a user other than root, as a number or in digits.

    A float such as `1000.0` is an integer to JSON Schema but not to Kubernetes, so it is refused here.
    """
    if isinstance(value, float):
        return Fault(f"`{value}` is not written as an integer", _USER_ID_RULE) if value.is_integer() else None
    if isinstance(value, str) and re.fullmatch(_ZEROS_IN_FRONT, value):
        return Fault(f"{shown(value)} has zeros in front", _USER_ID_RULE)
    if isinstance(value, str) and not re.fullmatch(_USER_ID, value):
        return Fault(f"{shown(value)} is not a user or group id", _USER_ID_RULE)
    number = int(value)
    if number == 0:
        return Fault("user or group id 0 is root, and containers do not run as root here", _USER_ID_RULE)
    if number < 0:
        return Fault("a user or group id cannot be negative", _USER_ID_RULE)
    return None if number <= _LARGEST_USER_ID else Fault("the user or group id is out of range", _USER_ID_RULE)


FORMATS: Final[Mapping[str, Callable[[object], Fault | None]]] = {
    "alias-pattern": _on_text(_alias_pattern),
    "annotation-key": _on_text(_annotation_key),
    "config-key": _on_text(_config_key),
    "cron": _on_text(cron_fault),
    "dns-1035-label": _on_text(_dns_1035_label),
    "dns-label": _on_text(_dns_label),
    "dns-subdomain": _on_text(_dns_subdomain),
    "env-name": _on_text(_env_name),
    "extended-resource": _on_text(_extended_resource),
    "gpu-name": _on_text(_gpu_name),
    "image": _on_text(image_fault),
    "label-key": _on_text(_label_key),
    "label-key-pattern": _on_text(_label_key_pattern),
    "label-value": _on_text(_label_value),
    "mount-path": _on_text(_mount_path),
    "name-pattern": _on_text(_name_pattern),
    "placeholders": _on_text(_placeholders),
    "port-pattern": _on_text(_port_pattern),
    "positive-quantity": _on_amount(_positive_quantity),
    "quantity": _on_amount(_quantity),
    "registry": _on_text(registry_fault),
    "resource-name": _on_text(_resource_name),
    "secret-id": _on_text(_secret_id),
    "secret-store": _on_text(_secret_store),
    "sub-path": _on_text(_sub_path),
    "user-id": _on_amount(_user_id),
    "volume-pattern": _on_text(_volume_pattern),
    "whole-number": _on_amount(_whole_number),
}
"""The checks by the name a schema's `format` gives: each returns the fault, or None for a value it accepts
and for a value of a type it is not about."""

QUANTITIES: Final = frozenset({"positive-quantity", "quantity", "whole-number"})
"""The formats of quantities, in which a plain `1e3` is fine."""


_LONGEST_KEPT: Final = 256
"""Characters of a text beyond which nothing is kept of it, so that what is kept stays small."""
_MOST_KEPT: Final = 4096


@lru_cache(maxsize=64)
def fitting(name: str) -> Callable[[object], bool]:
    """What says whether a value has nothing of the format against it, and keeps what it said: values are much alike."""
    check = FORMATS[name]

    def fits(value: object) -> bool:
        if isinstance(value, str) and len(value) > _LONGEST_KEPT:
            return check(value) is None
        return _fits(name, value)

    return fits


@lru_cache(maxsize=_MOST_KEPT, typed=True)
def _fits(name: str, value: object) -> bool:
    return FORMATS[name](value) is None
