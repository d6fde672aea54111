"""API schemas of Kubernetes, by version and kind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.schema.library import Schema

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_PACKAGE = "kubernetes_validate"
_FOLDER = re.compile(r"v([0-9]+)\.([0-9]+)\.([0-9]+)-local-strict", re.ASCII)
_VERSION = re.compile(r"v?([0-9]{1,4}\.[0-9]{1,4})(?:\.[0-9]{1,4})?", re.ASCII)
_STABLE = re.compile(r"v([0-9]+)", re.ASCII)
_LIMITS = {"int32": 2**31 - 1, "int64": 2**63 - 1}
_COPIED_KEYWORDS = ("type", "enum")
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

Kind: TypeAlias = tuple[str, str]
"""An `apiVersion` and a `kind`."""

_TIME: Schema = {"type": ["string", "null"], "x-time": True}
_REPLACED: Mapping[str, Schema] = {
    # The package's schema accepts null as neither a string nor a number.
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": ["string", "number", "null"], "x-quantity": True},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "type": ["string", "integer", "null"],
        "minimum": -_LIMITS["int32"] - 1,
        "maximum": _LIMITS["int32"],
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": _TIME,
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": _TIME,
}
_DEFAULTED = ""
"""An empty value, which the server replaces with its default."""
_SELECTING = ("In", "NotIn", "Exists", "DoesNotExist")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REFINED: Mapping[tuple[str, str], Schema] = {
    ("io.k8s.api.core.v1.Container", "resources"): {"x-resources": True},
    ("io.k8s.api.core.v1.PodSpec", "resources"): {"x-resources": True},
    **{
        (f"io.k8s.{definition}", name): {"x-options": options}
        for definition, name, options in (
            ("api.core.v1.Container", "imagePullPolicy", ("Always", "IfNotPresent", "Never", _DEFAULTED)),
            ("api.core.v1.ContainerPort", "protocol", (*_PROTOCOLS, _DEFAULTED)),
            ("api.core.v1.NodeSelectorRequirement", "operator", (*_SELECTING, "Gt", "Lt")),
            ("api.core.v1.PodSpec", "restartPolicy", ("Always", "OnFailure", "Never", _DEFAULTED)),
            ("api.core.v1.ServicePort", "protocol", (*_PROTOCOLS, _DEFAULTED)),
            ("api.core.v1.ServiceSpec", "type", ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName", _DEFAULTED)),
            ("api.core.v1.Taint", "effect", _EFFECTS),
            ("api.core.v1.Toleration", "effect", (*_EFFECTS, _DEFAULTED)),
            ("api.core.v1.Toleration", "operator", ("Exists", "Equal", _DEFAULTED)),
            ("api.batch.v1.CronJobSpec", "concurrencyPolicy", ("Allow", "Forbid", "Replace", _DEFAULTED)),
            ("api.networking.v1.NetworkPolicyPort", "protocol", _PROTOCOLS),
            ("apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement", "operator", _SELECTING),
        )
    },
}
"""Values that the schemas accept and servers reject; see `server_checks.py`."""
_ADDED_OPTIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("io.k8s.api.core.v1.Toleration", "operator"): ("Gt", "Lt")
}
"""Options that newer versions add; they apply if the description of the field mentions them."""
_NOT_REQUIRED: Mapping[str, frozenset[str]] = {
    f"io.k8s.api.{definition}": frozenset({name})
    for definition, name in (
        ("apps.v1.StatefulSetSpec", "serviceName"),
        ("batch.v1.PodFailurePolicyOnPodConditionsPattern", "status"),
        ("batch.v1.PodFailurePolicyRule", "onPodConditions"),
        ("networking.v1.NetworkPolicySpec", "podSelector"),
        ("rbac.v1.RoleRef", "apiGroup"),
    )
}
"""Fields that some schemas require, and servers default or do not need."""
_STATUS = "Status"
"""The suffix of definitions that only servers write."""


def versions() -> tuple[str, ...]:
    """The versions with schemas, such as `1.33`, oldest first; patch releases do not change the API.

    Raises ModuleNotFoundError if the package with the schemas is not installed.
    """
    return tuple(_folders())


def known_version(text: str) -> str | None:
    """The version for `1.33`, `v1.33` or `1.33.4`; None without schemas for it."""
    match = _VERSION.fullmatch(text)
    return match[1] if match and match[1] in versions() else None


def near_versions(text: str) -> tuple[str, ...]:
    """All versions, closest to the text first, newer ones before older ones."""
    match = _VERSION.fullmatch(text.strip())
    wanted = _number(match[1]) if match else _number(versions()[-1])

    def distance(version: str) -> tuple[int, int, int]:
        major, minor = _number(version)
        return abs(major - wanted[0]), abs(minor - wanted[1]), -minor

    return tuple(sorted(versions(), key=distance))


def in_version_order(names: Iterable[str]) -> tuple[str, ...]:
    """The distinct versions, oldest first."""
    return tuple(sorted(set(names), key=_number))


def join_names(names: Iterable[str]) -> str:
    """Join names for a sentence: `1.31, 1.32 and 1.33`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


@cache
def kinds(version: str) -> Mapping[Kind, str]:
    """The definition of every kind in a version, stable API versions first."""
    values = {
        (f"{groups[0]['group']}/{groups[0]['version']}".removeprefix("/"), groups[0]["kind"]): name
        for name, definition in _definitions(version).items()
        # A definition in several groups, such as DeleteOptions, is part of a request, not an object.
        if len(groups := definition.get("x-kubernetes-group-version-kind", ())) == 1
    }
    return {kind: values[kind] for kind in sorted(values, key=_by_preference)}


def _by_preference(kind: Kind) -> tuple[int, str, str]:
    """Sort stable API versions first, newest first."""
    api_version, name = kind
    stable = _STABLE.fullmatch(api_version.rpartition("/")[2])
    return -int(stable[1]) if stable else 0, api_version, name


def definition(version: str, name: str) -> Schema:
    """A definition with all references resolved; it may contain itself."""
    return _bundle(version).groups(name)


@cache
def _bundle(version: str) -> _Bundle:
    return _Bundle(_definitions(version))


class _Bundle:
    """Definitions of a version, each resolved on first use."""

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.source = source
        self.resolved: dict[str, dict[str, Any]] = {name: {**schema} for name, schema in _REPLACED.items()}

    def groups(self, name: str) -> Schema:
        if name not in self.resolved:
            # Registered before it is resolved, because some definitions refer to themselves.
            self.resolved[name] = {}
            self.resolved[name] |= self.schema(self.source[name], name)
        return self.resolved[name]

    def schema(self, source: Any, owner: str = "") -> Any:
        if not isinstance(source, dict):
            return source
        if "$ref" in source:
            return self.groups(source["$ref"].rpartition("/")[2])
        resolved = {key: source[key] for key in _COPIED_KEYWORDS if key in source}
        if required := _required(source, owner):
            resolved["x-required"] = required
        if limit := _LIMITS.get(source.get("format", "")):
            resolved |= {"minimum": -limit - 1, "maximum": limit}
        if source.get("format") == "byte":
            resolved["x-base64"] = True
        if "properties" in source:
            resolved["properties"] = {
                key: {**self.schema(child), **values} if (values := _refined(owner, key, child)) else self.schema(child)
                for key, child in source["properties"].items()
            }
        return resolved | {key: self.schema(source[key]) for key in ("items", "additionalProperties") if key in source}


def _required(source: Mapping[str, Any], owner: str) -> list[str]:
    if owner.endswith(_STATUS):
        return []
    return [name for name in source.get("required", ()) if name not in _NOT_REQUIRED.get(owner, ())]


def _refined(owner: str, key: str, source: Mapping[str, Any]) -> Schema | None:
    refined = _REFINED.get((owner, key))
    values = source.get("description", "")
    added = [option for option in _ADDED_OPTIONS.get((owner, key), ()) if re.search(rf"\b{option}\b", values)]
    return {**refined, "x-options": (*refined["x-options"], *added)} if refined and added else refined


@cache
def _definitions(version: str) -> Mapping[str, Any]:
    text = (_folders()[version] / "_definitions.json").read_text(encoding="utf-8")
    values: Mapping[str, Any] = json.loads(text)["$defs"]
    return values


@cache
def _folders() -> Mapping[str, Traversable]:
    """The folder of each version, of its latest patch release."""
    spec = find_spec(_PACKAGE)
    # Importing the package costs more than reading from it.
    root = files(module_from_spec(spec)) / "kubernetes-json-schema" if spec else None
    folders = [
        (tuple(map(int, match.groups())), folder)
        for folder in (root.iterdir() if root and root.is_dir() else ())
        if (match := _FOLDER.fullmatch(folder.name))
    ]
    if not folders:
        raise ModuleNotFoundError(f"the package {_PACKAGE} is not installed", name=_PACKAGE)
    return {f"{major}.{minor}": folder for (major, minor, _), folder in sorted(folders, key=lambda one: one[0])}


def _number(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)
