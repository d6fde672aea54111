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
_ALIKE = ("type", "enum")
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

Kind: TypeAlias = tuple[str, str]
"""An `apiVersion` and a `kind`."""

_TIME: Schema = {"type": ["string", "null"], "x-time": True}
_REPLACED: Mapping[str, Schema] = {
    # To the package, null is both a string and a number, and so neither.
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": ["string", "number", "null"], "x-quantity": True},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "type": ["string", "integer", "null"],
        "minimum": -_LIMITS["int32"] - 1,
        "maximum": _LIMITS["int32"],
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": _TIME,
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": _TIME,
}
_FILLED = ""
"""An option of fields that a server fills in where they are empty."""
_SELECTING = ("In", "NotIn", "Exists", "DoesNotExist")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REFINED: Mapping[tuple[str, str], Schema] = {
    ("io.k8s.api.core.v1.Container", "resources"): {"x-resources": True},
    ("io.k8s.api.core.v1.PodSpec", "resources"): {"x-resources": True},
    **{
        (f"io.k8s.{definition}", name): {"x-options": options}
        for definition, name, options in (
            ("api.core.v1.Container", "imagePullPolicy", ("Always", "IfNotPresent", "Never", _FILLED)),
            ("api.core.v1.ContainerPort", "protocol", (*_PROTOCOLS, _FILLED)),
            ("api.core.v1.NodeSelectorRequirement", "operator", (*_SELECTING, "Gt", "Lt")),
            ("api.core.v1.PodSpec", "restartPolicy", ("Always", "OnFailure", "Never", _FILLED)),
            ("api.core.v1.ServicePort", "protocol", (*_PROTOCOLS, _FILLED)),
            ("api.core.v1.ServiceSpec", "type", ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName", _FILLED)),
            ("api.core.v1.Taint", "effect", _EFFECTS),
            ("api.core.v1.Toleration", "effect", (*_EFFECTS, _FILLED)),
            ("api.core.v1.Toleration", "operator", ("Exists", "Equal", _FILLED)),
            ("api.batch.v1.CronJobSpec", "concurrencyPolicy", ("Allow", "Forbid", "Replace", _FILLED)),
            ("api.networking.v1.NetworkPolicyPort", "protocol", _PROTOCOLS),
            ("apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement", "operator", _SELECTING),
        )
    },
}
"""What servers refuse, though the schemas let it pass; see `server_checks.py`."""
_LATER: Mapping[tuple[str, str], tuple[str, ...]] = {("io.k8s.api.core.v1.Toleration", "operator"): ("Gt", "Lt")}
"""Options that came with some version: those that its own description of the field names."""
_UNASKED: Mapping[str, frozenset[str]] = {
    f"io.k8s.api.{definition}": frozenset({name})
    for definition, name in (
        ("apps.v1.StatefulSetSpec", "serviceName"),
        ("batch.v1.PodFailurePolicyOnPodConditionsPattern", "status"),
        ("batch.v1.PodFailurePolicyRule", "onPodConditions"),
        ("networking.v1.NetworkPolicySpec", "podSelector"),
        ("rbac.v1.RoleRef", "apiGroup"),
    )
}
"""What some of the schemas require, and servers fill in or do not ask for."""
_STATUS = "Status"
"""How definitions end that servers write and nobody has to."""


def versions() -> tuple[str, ...]:
    """The versions there are schemas of, oldest first, as `1.33`: patches change no API.

    Raises ModuleNotFoundError if the package that holds them is not installed.
    """
    return tuple(_folders())


def known_version(text: str) -> str | None:
    """The version that the text names, `1.33`, `v1.33` and `1.33.4` alike, if there are schemas of it."""
    match = _VERSION.fullmatch(text)
    return match[1] if match and match[1] in versions() else None


def near_versions(text: str) -> tuple[str, ...]:
    """All versions there are, those near to the text first, and of these the newer ones."""
    match = _VERSION.fullmatch(text.strip())
    wanted = _number(match[1]) if match else _number(versions()[-1])

    def distance(version: str) -> tuple[int, int, int]:
        major, minor = _number(version)
        return abs(major - wanted[0]), abs(minor - wanted[1]), -minor

    return tuple(sorted(versions(), key=distance))


def in_version_order(names: Iterable[str]) -> tuple[str, ...]:
    """The versions, each once, oldest first."""
    return tuple(sorted(set(names), key=_number))


def join_names(names: Iterable[str]) -> str:
    """Names as a sentence lists them: `1.31, 1.32 and 1.33`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


@cache
def kinds(version: str) -> Mapping[Kind, str]:
    """The definition of every kind that the API of the version has, stable versions first."""
    told = {
        (f"{named[0]['group']}/{named[0]['version']}".removeprefix("/"), named[0]["kind"]): name
        for name, definition in _definitions(version).items()
        # What is of many groups at once, such as DeleteOptions, is part of a request and no object.
        if len(named := definition.get("x-kubernetes-group-version-kind", ())) == 1
    }
    return {kind: told[kind] for kind in sorted(told, key=_by_preference)}


def _by_preference(kind: Kind) -> tuple[int, str, str]:
    """Stable versions first, the newest of them before all."""
    api_version, name = kind
    stable = _STABLE.fullmatch(api_version.rpartition("/")[2])
    return -int(stable[1]) if stable else 0, api_version, name


def definition(version: str, name: str) -> Schema:
    """A definition of the version with every reference replaced by what it names, so that it may hold itself."""
    return _bundle(version).named(name)


@cache
def _bundle(version: str) -> _Bundle:
    return _Bundle(_definitions(version))


class _Bundle:
    """Definitions as they are put together: each made once, and only if something needs it."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self.written = written
        self.made: dict[str, dict[str, Any]] = {name: {**schema} for name, schema in _REPLACED.items()}

    def named(self, name: str) -> Schema:
        if name not in self.made:
            # Entered before it is finished, as some definitions refer to themselves.
            self.made[name] = {}
            self.made[name] |= self.schema(self.written[name], name)
        return self.made[name]

    def schema(self, written: Any, owner: str = "") -> Any:
        if not isinstance(written, dict):
            return written
        if "$ref" in written:
            return self.named(written["$ref"].rpartition("/")[2])
        made = {key: written[key] for key in _ALIKE if key in written}
        if required := _required(written, owner):
            made["x-required"] = required
        if limit := _LIMITS.get(written.get("format", "")):
            made |= {"minimum": -limit - 1, "maximum": limit}
        if written.get("format") == "byte":
            made["x-base64"] = True
        if "properties" in written:
            made["properties"] = {
                key: {**self.schema(child), **told} if (told := _refined(owner, key, child)) else self.schema(child)
                for key, child in written["properties"].items()
            }
        return made | {key: self.schema(written[key]) for key in ("items", "additionalProperties") if key in written}


def _required(written: Mapping[str, Any], owner: str) -> list[str]:
    if owner.endswith(_STATUS):
        return []
    return [name for name in written.get("required", ()) if name not in _UNASKED.get(owner, ())]


def _refined(owner: str, key: str, written: Mapping[str, Any]) -> Schema | None:
    refined = _REFINED.get((owner, key))
    told = written.get("description", "")
    later = [option for option in _LATER.get((owner, key), ()) if re.search(rf"\b{option}\b", told)]
    return {**refined, "x-options": (*refined["x-options"], *later)} if refined and later else refined


@cache
def _definitions(version: str) -> Mapping[str, Any]:
    text = (_folders()[version] / "_definitions.json").read_text(encoding="utf-8")
    told: Mapping[str, Any] = json.loads(text)["$defs"]
    return told


@cache
def _folders() -> Mapping[str, Traversable]:
    """The folder of each version; of several patches of a version, that of the latest."""
    spec = find_spec(_PACKAGE)
    # Importing the package costs more than reading from it.
    root = files(module_from_spec(spec)) / "kubernetes-json-schema" if spec else None
    found = [
        (tuple(map(int, match.groups())), folder)
        for folder in (root.iterdir() if root and root.is_dir() else ())
        if (match := _FOLDER.fullmatch(folder.name))
    ]
    if not found:
        raise ModuleNotFoundError(f"the package {_PACKAGE} is not installed", name=_PACKAGE)
    return {f"{major}.{minor}": folder for (major, minor, _), folder in sorted(found, key=lambda one: one[0])}


def _number(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)
