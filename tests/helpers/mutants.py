"""Manifests with one mistake each, chosen by a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from helpers.paths import GOLDEN, ROOT
from helpers.plain_data import paths, with_change

from speccompile.model.key_path import KeyPath

OTHER_KINDS = "other kinds"
"""The name of the case with the objects of `tests/verify/other_kinds.yaml`."""
_GROUPS = ("v1", "apps", "batch", "autoscaling", "networking.k8s.io", "policy")
"""Groups of the manifests that a server without custom kinds judges."""
_TEXTS = (
    *("wrong", "Upper", "with space", "a/b", "a_b", "-a", "a-", ".", "..", "a..b", "1", "0", "true", "é", "a\nb"),
    *("a:b", "a=b", "/", "/a", "/a:b", "../a", "http", "1Gi", "-1", "0.5", "TCP", "Never", "Always", "None", "*"),
    *("@daily", "a" * 16, "a" * 64, "a" * 254, "a.b/c", "A.b/c", "a.b/c/d", "/c", "a/", "0 0 * *", "61 * * * *"),
    "10.0.0.1",
)
_NUMBERS = (-1, 0, 1, 2, 3, 10, 100, 65535, 65536, 2**31 - 1, 2**31, 2**40, 1.5, -(2**63))
_OTHER_TYPES: tuple[Any, ...] = ("text", 7, True, [], {}, ["a"], {"a": "b"}, [None], [{}], [[]], {"a": None})


class Mutant(NamedTuple):
    """A change of the value at a path in a manifest of a case."""

    case: str
    manifest: str
    """Its kind and name."""
    path: KeyPath
    operation: str
    argument: Any = None

    def data(self) -> Any:
        """The changed manifest; raises LookupError if the case no longer has the path."""
        return _changed(manifests()[self.case][self.manifest], self.path, self.operation, self.argument)


@cache
def manifests() -> Mapping[str, Mapping[str, Any]]:
    """The manifests of built-in kinds by case, kind and name."""
    read = {path.parent.name: _read(path) for path in sorted((GOLDEN / "accept").glob("*/manifests.yaml"))}
    read[OTHER_KINDS] = _read(ROOT / "tests" / "verify" / "other_kinds.yaml")
    return {case: found for case, found in read.items() if found}


def _read(path: Path) -> Mapping[str, Any]:
    documents = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    return {
        f"{one['kind']} {one['metadata']['name']}": one
        for one in documents
        if one["apiVersion"].partition("/")[0] in _GROUPS
    }


def mutants(seed: int, *, golden: bool) -> Iterator[Mutant]:
    """Distinct mutants without end, of golden/ or of other kinds."""
    draw = random.Random(seed)  # noqa: S311  the same ones each time
    places = [(case, name) for case, found in manifests().items() for name in found if (case != OTHER_KINDS) == golden]
    by_kind: dict[str, list[tuple[str, str]]] = {name.partition(" ")[0]: [] for _, name in places}
    for place in places:
        by_kind[place[1].partition(" ")[0]].append(place)
    seen: set[str] = set()
    while True:
        # Jobs are most of golden/, so half of the draws ignore how frequent a kind is.
        case, name = draw.choice(places if draw.random() < 0.5 else by_kind[draw.choice(sorted(by_kind))])
        manifest = manifests()[case][name]
        path = _path(draw, manifest)
        operation, argument = draw.choice(_operations(draw, _at(manifest, path), path, _at(manifest, path[:-1])))
        mutant = Mutant(case, name, path, operation, argument)
        text = json.dumps(mutant.data())
        if text not in seen and mutant.data() != manifest:
            seen.add(text)
            yield mutant


def _path(draw: random.Random, manifest: Any) -> KeyPath:
    """Any place, or one found by walking down from the root, which visits places near it more often."""
    if draw.random() < 0.5:
        return draw.choice([path for path in paths(manifest) if path and path[0] not in ("apiVersion", "kind")])
    path: KeyPath = ()
    value = manifest
    while isinstance(value, dict | list) and value:
        steps = list(value) if isinstance(value, dict) else range(len(value))
        steps = [step for step in steps if path or step not in ("apiVersion", "kind")]
        step = draw.choice(steps)
        path, value = (*path, step), value[step]
        if draw.random() < 0.12:
            break
    return path


def _operations(draw: random.Random, value: Any, path: KeyPath, siblings: Any) -> list[tuple[str, Any]]:
    """The changes to choose from, each kind of change about once."""
    changes: list[tuple[str, Any]] = [("delete", None), ("set", None), ("set", draw.choice(_OTHER_TYPES))]
    if isinstance(value, str):
        changes += [("set", ""), ("set", draw.choice(_TEXTS)), ("set", draw.choice(_TEXTS)), ("append", "x")]
        changes += [("append", "-x"), ("swapcase", None)]
    elif isinstance(value, bool):
        changes += [("set", not value)]
    elif isinstance(value, int | float):
        changes += [("set", draw.choice(_NUMBERS)), ("set", draw.choice(_NUMBERS)), ("set", str(value))]
    elif isinstance(value, list):
        changes += [("set", []), ("push", None), ("push", {}), ("repeat", 0), ("set", [None])]
    else:
        changes += [("set", {}), ("add", [draw.choice(_TEXTS), "x"])]
    if isinstance(path[-1], str):
        changes += [("rename", draw.choice((*_TEXTS, f"{path[-1]}x", path[-1].lower())))]
        changes += [("swap", draw.choice(sorted(siblings)))]
    return changes


_ON_VALUE: Mapping[str, Callable[[Any, Any], Any]] = {
    "set": lambda _, argument: argument,
    "append": lambda value, argument: value + argument,
    "swapcase": lambda value, _: value.swapcase(),
    "push": lambda value, argument: [*value, argument],
    "repeat": lambda value, index: [*value, value[index]] if value else [None],
    "add": lambda value, argument: {**value, argument[0]: argument[1]},
}


def _changed(manifest: Any, path: KeyPath, operation: str, argument: Any) -> Any:
    if operation in _ON_VALUE:
        return with_change(manifest, path, _ON_VALUE[operation](_at(manifest, path), argument))
    *above, step = path
    parent = _at(manifest, tuple(above))
    if isinstance(parent, list):
        parent = [child for index, child in enumerate(parent) if index != step]
    elif operation == "delete":
        parent = {key: child for key, child in parent.items() if key != step}
    elif operation == "swap":
        parent = {**parent, step: parent[argument], argument: parent[step]}
    else:
        parent = {argument if key == step else key: child for key, child in parent.items()}
    return with_change(manifest, tuple(above), parent)


def _at(data: Any, path: KeyPath) -> Any:
    for step in path:
        data = data[step]
    return data
