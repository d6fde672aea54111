"""Formats of names: DNS names, labels, environment variables, and patterns for names."""

import re
from collections.abc import Iterable
from typing import Final

from speccompile.model.diagnostic import quote
from speccompile.model.object_names import PLACEHOLDER, PLACEHOLDERS, placeholders
from speccompile.schema.formats.text_format import Shape, ValueFault, shape_fault

_LONGEST_LABEL: Final = 63
LONGEST_SUBDOMAIN: Final = 253

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
    LONGEST_SUBDOMAIN,
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
    LONGEST_SUBDOMAIN,
    "use letters, digits, `_`, `-` and `.`, and no digit in front: it becomes an environment variable name",
)
_CONFIG_KEY: Final = Shape(
    "a config key",
    r"[-._A-Za-z0-9]+",
    LONGEST_SUBDOMAIN,
    "use letters, digits, `_`, `-` and `.`",
)
LABEL_NAME: Final = Shape(
    "a label name",
    r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?",
    _LONGEST_LABEL,
    "use letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit",
)
_LABEL_VALUE: Final = LABEL_NAME._replace(what="a label value")
_LABEL_PREFIX: Final = _DNS_SUBDOMAIN._replace(what="a DNS name before `/`")

_NOT_IN_DNS: Final = r"[^a-z0-9.]+"


def _dns_spelling(text: str) -> str:
    """The text with case and separators of a DNS name."""
    return re.sub(_NOT_IN_DNS, "-", text.lower()).strip("-") if text.isascii() else ""


def _label_spelling(text: str) -> str:
    return _dns_spelling(text).replace(".", "-")


def dns_label_fault(text: str) -> ValueFault | None:
    return shape_fault(text, _DNS_LABEL, _label_spelling)


def dns_1035_label_fault(text: str) -> ValueFault | None:
    return shape_fault(text, _DNS_1035_LABEL, _label_spelling)


def dns_subdomain_fault(text: str) -> ValueFault | None:
    return shape_fault(text, _DNS_SUBDOMAIN, _dns_spelling)


def _parent_fault(text: str) -> ValueFault | None:
    """The fault of a file name that would leave its directory."""
    if text == "." or text.startswith(".."):
        return ValueFault(f"{quote(text)} is `.` or begins with `..`", "write a name that does not begin with `.`")
    return None


def env_name_fault(text: str) -> ValueFault | None:
    return _parent_fault(text) or shape_fault(text, _ENV_NAME)


def secret_id_fault(text: str) -> ValueFault | None:
    fault = _parent_fault(text) or shape_fault(text, _SECRET_ID)
    # The value of a secret may be written here.
    return fault and fault._replace(message="this is not the identifier of a secret")


def secret_store_fault(text: str) -> ValueFault | None:
    """The name of a Secret with the placeholder `{project}`."""
    if "{project}" not in text:
        return ValueFault(
            f"{quote(text)} does not contain `{{project}}`", "add `{project}`, so that projects do not share a store"
        )
    if fault := shape_fault(text.replace("{project}", "p"), _DNS_SUBDOMAIN._replace(what="the name of a Secret")):
        return fault
    longest = len(text.replace("{project}", "p" * _LONGEST_LABEL))
    if longest > LONGEST_SUBDOMAIN:
        return ValueFault(
            f"{quote(text)} is up to {longest} characters long, with a project of {_LONGEST_LABEL}",
            f"shorten it: the name of a Secret has at most {LONGEST_SUBDOMAIN} characters",
        )
    return None


def config_key_fault(text: str) -> ValueFault | None:
    return _parent_fault(text) or shape_fault(text, _CONFIG_KEY)


def label_key_fault(text: str) -> ValueFault | None:
    return qualified_name_fault(text, LABEL_NAME)


def key_prefix_fault(text: str) -> ValueFault | None:
    """A key of labels or annotations, or a prefix that ends in `*`."""
    return label_key_fault(f"{text[:-1]}x" if text.endswith("*") else text)


def annotation_key_fault(text: str) -> ValueFault | None:
    return qualified_name_fault(text, LABEL_NAME._replace(what="an annotation name"))


def qualified_name_fault(text: str, shape: Shape) -> ValueFault | None:
    """A name, optionally prefixed by a DNS name and `/`."""
    prefix, slash, name = text.partition("/")
    if not slash:
        return shape_fault(text, shape)
    return shape_fault(prefix, _LABEL_PREFIX, _dns_spelling) or shape_fault(name, shape)


def label_key_pattern_fault(text: str) -> ValueFault | None:
    """A label key, optionally with the placeholder `{label_prefix}`."""
    return placeholders_fault(text, ("label_prefix",)) or label_key_fault(text.replace("{label_prefix}", "p"))


def placeholders_fault(text: str, known: Iterable[str] = PLACEHOLDERS) -> ValueFault | None:
    """Text with placeholders for properties of the run."""
    unknown = next((name for name in placeholders(text) if name not in known), None)
    if unknown is None:
        return None
    return ValueFault(f"unknown placeholder `{{{unknown}}}`", f"use {', '.join(f'`{{{name}}}`' for name in known)}")


def name_pattern_fault(text: str, *others: str) -> ValueFault | None:
    """A pattern for a name or label value; `others` are further placeholders."""
    if fault := placeholders_fault(text, (*PLACEHOLDERS, "workload", *others)):
        return fault
    fault = shape_fault(PLACEHOLDER.sub("p", text), _LABEL_VALUE) if text else None
    return ValueFault(f"{quote(text)} produces names that Kubernetes rejects", fault.help) if fault else None


def alias_pattern_fault(text: str) -> ValueFault | None:
    return name_pattern_fault(text, "service_name")


def volume_pattern_fault(text: str) -> ValueFault | None:
    return name_pattern_fault(text, "volume")


_PORT_NAME: Final = Shape(
    "the name of a port",
    r"(?=[0-9-]*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*",
    15,
    "use lower-case letters, digits and single `-`, with a letter among them, and begin and end with a letter or digit",
)
_LONGEST_PORT: Final = "65535"


def port_name_fault(text: str) -> ValueFault | None:
    return shape_fault(text, _PORT_NAME)


def port_pattern_fault(text: str) -> ValueFault | None:
    """A pattern for the names of ports, valid for every port number."""
    if fault := placeholders_fault(text, ("port",)):
        return fault
    fault = port_name_fault(text.replace("{port}", _LONGEST_PORT))
    return ValueFault(f"{quote(text)} produces invalid port names", fault.help) if fault else None


def gpu_name_fault(text: str) -> ValueFault | None:
    """A name for a kind of GPU, other than the keys of `gpu`."""
    if text in ("requests", "limits"):
        return ValueFault(f"{quote(text)} is a key of `gpu`", "use another name")
    return dns_label_fault(text)


def label_value_fault(text: str) -> ValueFault | None:
    return shape_fault(text, _LABEL_VALUE) if text else None
