"""Checks of the API server on metadata, Services, claims, ConfigMaps and Secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath
from speccompile.model.quantity import QuantityError, parse_quantity
from speccompile.schema.formats.names import annotation_key_fault, dns_subdomain_fault, label_key_fault
from speccompile.schema.formats.text_format import ValueFault
from speccompile.verify.server_checks import Check, TextCheck, Violation, items, list_or_empty, mapping, text_fault

_MOST_ANNOTATIONS = 256 * 1024
_MOST_DATA = 1024 * 1024
_DAY = 86400
_NODE_TYPES = ("NodePort", "LoadBalancer")
_SECRET_KEYS: Mapping[str, tuple[str, ...]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
"""The keys that Secrets of these types need."""
_TRAILING_DASH = re.compile(r".-\Z", re.DOTALL)
_SHORT_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,9}")
_ZEROS = re.compile(r"(?<![0-9A-Fa-f:])0+(?=[0-9])")
_FINALIZERS = ("foregroundDeletion", "kubernetes", "orphan")
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


# Metadata.


def path_segment_fault(text: str) -> ValueFault | None:
    """A name of any kind; most kinds allow less."""
    if text in (".", "..") or "/" in text or "%" in text:
        return ValueFault(f"{quote(text)} is not a name of an object", "use no `/` and `%`, and not `.` or `..` alone")
    return None


def _accept(_: str) -> None:
    """Accept any text."""


def annotation_fault(key: str) -> ValueFault | None:
    """A server ignores the case of the prefix."""
    return annotation_key_fault(key.lower()) and (annotation_key_fault(key) or annotation_key_fault(key.lower()))


def finalizer_fault(text: str) -> ValueFault | None:
    """The finalizer of a built-in kind."""
    if "/" in text or text in _FINALIZERS:
        return label_key_fault(text)
    return ValueFault(f"{quote(text)} is not a finalizer", "write it with a domain, such as `example.com/cleanup`")


def check_names(fault_of: TextCheck, finalizer: TextCheck = label_key_fault, namespace: TextCheck = _accept) -> Check:
    """Check the name, namespace and finalizers of an object; of a generated name, only the beginning is known."""

    def check(subject: Any) -> Iterator[Violation]:
        metadata = mapping(subject, "metadata")
        name, prefix = metadata.get("name"), metadata.get("generateName")
        texts: list[tuple[KeyPath, Any, TextCheck]] = [
            (("name",), name, fault_of),
            (("namespace",), metadata.get("namespace"), namespace),
        ]
        for index, one in enumerate(list_or_empty(metadata.get("finalizers"))):
            texts.append((("finalizers", index), one, finalizer))
        if prefix and not name and isinstance(prefix, str):
            texts.append((("generateName",), _TRAILING_DASH.sub("a", prefix), fault_of))
        for path, text, check_text in texts:
            if isinstance(text, str) and text and (fault := text_fault(check_text, text)):
                yield Violation(fault.message, fault.help, ("metadata", *path))

    return check


def check_annotations(annotations: Any) -> Iterator[Violation]:
    if isinstance(annotations, dict) and sum(map(_bytes, (*annotations, *annotations.values()))) > _MOST_ANNOTATIONS:
        yield Violation(f"annotations have at most {_MOST_ANNOTATIONS} bytes in total", "shorten them")


def check_pod_annotations(owner: Any) -> Iterator[Violation]:
    cost = mapping(owner, "metadata", "annotations").get(_DELETION_COST, "0") or ""
    if isinstance(cost, str) and not _is_int32(cost):
        path = ("metadata", "annotations", _DELETION_COST)
        yield Violation(f"{quote(cost)} is not a whole number", "write one of at most 32 bits", path)


def _is_int32(text: str) -> bool:
    return _SHORT_NUMBER.fullmatch(text) is not None and -(2**31) <= int(text) < 2**31


# Addresses.


def address_fault(text: str) -> ValueFault | None:
    """An IP address; servers ignore zeros in front, and accept no zones."""
    try:
        ip_address(_ZEROS.sub("", text).replace("%", "/"))
    except ValueError:
        return ValueFault(f"{quote(text)} is not an IP address", "write one such as `10.0.0.1`")
    return None


def network_fault(text: str) -> ValueFault | None:
    address, _, length = text.strip().partition("/")
    longest = 128 if ":" in address else 32
    if address_fault(address) or not _SHORT_NUMBER.fullmatch(length) or not 0 <= int(length) <= longest:
        return ValueFault(f"{quote(text)} is not a range of addresses", "write one such as `10.0.0.0/8`")
    return None


# ConfigMaps, Secrets and claims.


def check_config_map(config: Any) -> Iterator[Violation]:
    data, binary = mapping(config, "data"), mapping(config, "binaryData")
    for key in data:
        if key in binary:
            message = f"{quote(key)} is also in `binaryData`"
            yield Violation(message, "remove one of them", ("data", key))
    if sum(_bytes(value) for value in (*data.values(), *binary.values())) > _MOST_DATA:
        yield Violation(f"a ConfigMap has at most {_MOST_DATA} bytes of data", "split it", ("data",))


def check_secret(secret: Any) -> Iterator[Violation]:
    keys = {**mapping(secret, "data"), **mapping(secret, "stringData")}
    for key in _SECRET_KEYS.get(str(secret.get("type")), ()):
        if key not in keys:
            yield Violation(f"missing {quote(key)}", f"add it to `data`: its type is {quote(secret['type'])}")


def _bytes(value: Any) -> int:
    return len(value.encode("utf-8", "replace")) if isinstance(value, str) else 0


def check_claim(spec: Any) -> Iterator[Violation]:
    modes, requests = spec.get("accessModes"), mapping(spec, "resources", "requests")
    if isinstance(modes, list) and "ReadWriteOncePod" in modes and any(mode != "ReadWriteOncePod" for mode in modes):
        message = "`ReadWriteOncePod` excludes other access modes"
        yield Violation(message, "keep one of them", ("accessModes",))
    if "storage" not in requests:
        yield Violation("missing `storage` in `resources.requests`", "add it: the size of the claim", ("resources",))
    elif _is_zero(requests["storage"]):
        yield Violation("a claim of size zero", "write an amount above zero", ("resources", "requests", "storage"))


def _is_zero(value: Any) -> bool:
    try:
        return value is None or (isinstance(value, str | int | float) and parse_quantity(value).nano == 0)
    except QuantityError:
        return False


# Services.


def check_service(spec: Any) -> Iterator[Violation]:
    kind, address, ports = spec.get("type") or "ClusterIP", spec.get("clusterIP"), spec.get("ports")
    is_headless = address == "None"
    if kind == "ExternalName":
        yield from _external_name(spec)
    elif not ports and not is_headless:
        yield Violation("missing `ports`", "add at least one port")
    if kind in _NODE_TYPES and is_headless:
        yield Violation(f"a Service of type `{kind}` needs an address", "remove `clusterIP`", ("clusterIP",))
    elif isinstance(address, str) and address not in ("", "None") and (fault := address_fault(address)):
        yield Violation(fault.message, "remove it, or write `None`", ("clusterIP",))
    if isinstance(ports, list) and len(ports) > 1:
        for index, port in items(spec, "ports"):
            if not port.get("name"):
                yield Violation("with several ports, each needs a `name`", "add `name`", ("ports", index))
    if kind == "ClusterIP":
        for index, port in items(spec, "ports"):
            if port.get("nodePort"):
                message = "`nodePort` needs `type: NodePort` or `LoadBalancer`"
                yield Violation(message, "remove it", ("ports", index, "nodePort"))
    yield from _duplicate_ports(spec)
    yield from _options_of_types(spec, kind)


def check_ingress(spec: Any) -> Iterator[Violation]:
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        yield Violation("missing `rules` or `defaultBackend`", "add one of them")


def _external_name(spec: Mapping[str, Any]) -> Iterator[Violation]:
    name = spec.get("externalName")
    if isinstance(name, str) and name and (fault := dns_subdomain_fault(name.removesuffix("."))):
        yield Violation(fault.message, fault.help, ("externalName",))
    if not name:
        yield Violation("`type: ExternalName` needs `externalName`", "add `externalName`", ("type",))
    if spec.get("clusterIP"):
        yield Violation("`type: ExternalName` takes no `clusterIP`", "remove it", ("clusterIP",))


def _duplicate_ports(spec: Mapping[str, Any]) -> Iterator[Violation]:
    for field in ("port", "nodePort"):
        seen = set()
        for index, port in items(spec, "ports"):
            identity = str(port.get(field)), str(port.get("protocol") or "TCP")
            if port.get(field) and identity in seen:
                message = f"another port has the same `{field}` and protocol"
                yield Violation(message, "change or remove one of them", ("ports", index, field))
            seen.add(identity)


_ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    "allocateLoadBalancerNodePorts": ("LoadBalancer",),
    "loadBalancerClass": ("LoadBalancer",),
    "loadBalancerSourceRanges": ("LoadBalancer",),
}
"""Fields that only some types of Services have."""


def _options_of_types(spec: Mapping[str, Any], kind: str) -> Iterator[Violation]:
    for name, kinds in _ONLY_FOR.items():
        if spec.get(name) not in (None, []) and kind not in kinds:
            yield Violation(f"`{name}` needs `type: {kinds[0]}`", "remove it", (name,))
    timeout = mapping(spec, "sessionAffinityConfig", "clientIP").get("timeoutSeconds")
    if spec.get("sessionAffinity") == "ClientIP" and isinstance(timeout, int) and not 1 <= timeout <= _DAY:
        path = ("sessionAffinityConfig", "clientIP", "timeoutSeconds")
        yield Violation(f"`{timeout}` is not from 1 to {_DAY} seconds", None, path)
    has_outside = kind in _NODE_TYPES or (kind == "ClusterIP" and spec.get("externalIPs"))
    if spec.get("externalTrafficPolicy") and not has_outside:
        message = "`externalTrafficPolicy` needs `type: NodePort` or `LoadBalancer`"
        yield Violation(message, "remove it", ("externalTrafficPolicy",))
