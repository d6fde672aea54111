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
from speccompile.verify.field_rules import INT32, INT64, UNCHECKED, field_rule
from speccompile.verify.object_rules import object_rule
from speccompile.verify.server_checks import NULL_ITEM

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_PACKAGE = "kubernetes_validate"
_FOLDER = re.compile(r"v([0-9]+)\.([0-9]+)\.([0-9]+)-local-strict", re.ASCII)
_VERSION = re.compile(r"v?([0-9]{1,4}\.[0-9]{1,4})(?:\.[0-9]{1,4})?", re.ASCII)
_STABLE = re.compile(r"v([0-9]+)", re.ASCII)
_LIMITS = {"int32": INT32, "int64": INT64}
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
        "minimum": -INT32 - 1,
        "maximum": INT32,
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": _TIME,
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": _TIME,
}
_NOT_REQUIRED: Mapping[str, frozenset[str]] = {
    f"io.k8s.api.{definition}": frozenset({name})
    for definition, name in (
        ("apps.v1.StatefulSetSpec", "serviceName"),
        ("batch.v1.PodFailurePolicy", "rules"),
        ("batch.v1.PodFailurePolicyOnPodConditionsPattern", "status"),
        ("batch.v1.PodFailurePolicyRule", "onPodConditions"),
        ("core.v1.PreferredSchedulingTerm", "preference"),
        ("networking.v1.NetworkPolicySpec", "podSelector"),
        ("rbac.v1.RoleRef", "apiGroup"),
    )
}
"""Fields that some schemas require, and servers default or do not need."""
_GROUPS = "x-kubernetes-group-version-kind"
_EMPTY: Mapping[str, Any] = {"object": {}, "string": "", "integer": 0, "array": []}
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
    return match[1] if match and match[1] in _folders() else None


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
        if len(groups := definition.get(_GROUPS, ())) == 1
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
    return _Bundle(_definitions(version), _number(version)[1])


class _Bundle:
    """Definitions of a version, each resolved on first use."""

    def __init__(self, source: Mapping[str, Any], minor: int) -> None:
        self.source, self.minor = source, minor
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
        short_name = ".".join(owner.split(".")[-3:])
        resolved = {key: source[key] for key in _COPIED_KEYWORDS if key in source}
        resolved |= object_rule(short_name, self.minor, is_kind=_GROUPS in source) if owner else {}
        resolved["x-required"] = _required(source, owner, resolved)
        if names := resolved.get("x-exactly-one"):
            resolved["x-exactly-one"] = [name for name in names if name in source["properties"]]
        if limit := _LIMITS.get(source.get("format", "")):
            resolved |= {"minimum": -limit - 1, "maximum": limit}
        if source.get("format") == "byte":
            resolved["x-base64"] = True
        if "properties" in source:
            resolved["properties"] = {
                key: self.field(child, field_rule(short_name, key, self.minor, child.get("description", "")))
                for key, child in source["properties"].items()
            }
        if "items" in source:
            resolved |= self.list(source["items"])
        if "additionalProperties" in source:
            resolved["additionalProperties"] = self.schema(source["additionalProperties"])
        return resolved

    def field(self, source: Any, rule: Schema | None) -> Schema:
        if rule is UNCHECKED:
            # Without the name of its definition, no rules apply.
            source = self.source[source["$ref"].rpartition("/")[2]]
        schema: Schema = self.schema(source)
        return {**schema, **rule} if rule else schema

    def list(self, item: Mapping[str, Any]) -> Schema:
        """A server reads an item that is null as the empty value of its type."""
        name = item.get("$ref", "").rpartition("/")[2]
        kinds = {} if name in _REPLACED else self.source.get(name, item).get("type", ())
        empty = next((_EMPTY[kind] for kind in ((kinds,) if isinstance(kinds, str) else kinds) if kind in _EMPTY), None)
        return {"items": self.schema(item), **({NULL_ITEM: empty} if empty is not None else {})}


def _required(source: Mapping[str, Any], owner: str, rule: Schema) -> list[str]:
    """The required fields; those that must be filled are checked for that."""
    if owner.endswith(_STATUS):
        return []
    excluded = {*_NOT_REQUIRED.get(owner, ()), *rule.get("x-filled", ())}
    return [name for name in (*source.get("required", ()), *rule.get("x-required", ())) if name not in excluded]


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
