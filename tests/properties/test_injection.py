"""Text in any free-text field stays text and changes no structure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from helpers.cases import compiled
from helpers.manifest_data import annotations_on, loaded
from helpers.plain_data import exactly, leaves
from hypothesis import example, given
from hypothesis import strategies as st

from speccompile.model.key_path import KeyPath
from speccompile.testing.manifest_facts import pod_templates
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases
from speccompile.testing.strategies.text import any_texts, json_trees

Reading: TypeAlias = Callable[[list[Data]], list[Any]]


def main_containers(manifests: list[Data]) -> list[Data]:
    return [template["spec"]["containers"][0] for template in pod_templates(manifests)]


def annotations_of(manifests: list[Data], key: str) -> list[Any]:
    holders = [*manifests, *pod_templates(manifests)]
    return [holder["metadata"]["annotations"][key] for holder in holders if key in annotations_on(holder)]


def parameter(name: str) -> Reading:
    return lambda manifests: [json.loads(text) for text in annotations_of(manifests, f"speccompile.dev/{name}")]


def volume_with(text: str) -> Data:
    return {"volume_type": "config_map", "name": "injected", "mount_path": "/in", "spec": {"data": {"file": text}}}


def path_with(text: str) -> str:
    """A path with as much of the text as paths may contain."""
    return "x" + "".join(char for char in text if char.isprintable() and char not in "./:")


def mounted_with(text: str) -> Data:
    path = path_with(text)
    return {"volume_type": "empty_dir", "name": "injected", "mount_path": f"/{path}", "sub_path": path}


def mounts(manifests: list[Data]) -> list[Data]:
    found = [mount for main in main_containers(manifests) for mount in main["volumeMounts"]]
    return [mount for mount in found if mount["name"] == "injected"]


class Place(NamedTuple):
    """A free-text field: its value with a text, and where the text appears in manifests, and as what."""

    field: str
    value_with: Callable[[str], Any]
    read: Reading
    reads: Callable[[str], Any] = lambda text: text


PLACES: Mapping[str, Place] = {
    "env value": Place(
        "envs",
        lambda text: [{"name": "X", "value": text}],
        lambda manifests: [
            env["value"] for main in main_containers(manifests) for env in main["env"] if env["name"] == "X"
        ],
    ),
    "env value in a map": Place(
        "envs",
        lambda text: {"X": text},
        lambda manifests: [
            env["value"] for main in main_containers(manifests) for env in main["env"] if env["name"] == "X"
        ],
    ),
    "argument": Place(
        "args",
        lambda text: ["a", text],
        lambda manifests: [main["args"] for main in main_containers(manifests)],
        lambda text: ["a", text],
    ),
    "command": Place(
        "command",
        lambda text: [text, "a"],
        lambda manifests: [main["command"] for main in main_containers(manifests)],
        lambda text: [text, "a"],
    ),
    "executable": Place(
        "command",
        lambda text: f"/{text}",
        lambda manifests: [main["command"] for main in main_containers(manifests)],
        lambda text: [f"/{text}"],
    ),
    "annotation": Place("annotations", lambda text: {"x": text}, lambda manifests: annotations_of(manifests, "x")),
    "config file": Place(
        "volumes",
        lambda text: [volume_with(text)],
        lambda manifests: [found["data"]["file"] for found in manifests if found["kind"] == "ConfigMap"],
    ),
    "path": Place(
        "volumes",
        lambda text: [mounted_with(text)],
        mounts,
        lambda text: {"name": "injected", "mountPath": f"/{path_with(text)}", "subPath": path_with(text)},
    ),
    "parameter": Place("parameters", lambda text: {"a": text}, parameter("parameters"), lambda text: {"a": text}),
    "parameter name": Place("parameters", lambda text: {text: 1}, parameter("parameters"), lambda text: {text: 1}),
    "input": Place("inputs", lambda text: {"a": [{"b": text}]}, parameter("inputs"), lambda text: {"a": [{"b": text}]}),
}


def key_paths(manifests: list[Data]) -> set[KeyPath]:
    return {path for path, _ in leaves(manifests)}


@given(cases(spelling=False), st.sampled_from(sorted(PLACES)), any_texts(), st.booleans())
@example(Case({"name": "a", "action": "job", "image": "a"}), "env value", "\ue0000\ue001", False)
@example(Case({"name": "a", "action": "job", "image": "a"}), "argument", "\ue002a:1\ue003", False)
def test_injection_text_stays_text(case: Case, name: str, text: str, in_profile: bool) -> None:
    """Any text in any free-text field appears unchanged, and changes no structure."""
    place = PLACES[name]
    if in_profile and case.profile is None:
        case = case._replace(profile={"id": "default"}, run={**case.run, "profile": ""})

    def with_text(inserted: str) -> list[Data]:
        target, other = (case.profile, case.run) if in_profile else (case.run, case.profile)
        changed = {**(target or {}), place.field: place.value_with(inserted)}
        rest = {key: value for key, value in (other or {}).items() if key != place.field}
        run, profile = (rest, changed) if in_profile else (changed, rest if other else None)
        return loaded(compiled(Case(run, profile, case.platform)).to_yaml())

    manifests = with_text(text)
    texts = place.read(manifests)
    assert texts
    assert all(one == place.reads(text) for one in texts)
    assert key_paths(manifests) == key_paths(with_text("harmless"))


@given(cases(), st.sampled_from(("inputs", "parameters")), st.dictionaries(any_texts(), json_trees(), max_size=3))
@example(Case({"name": "a", "action": "job", "image": "a"}), "parameters", {"a": [[{"b": None}]]})
def test_injection_inputs_and_parameters_are_unchanged(case: Case, name: str, value: Data) -> None:
    """Inputs and parameters are passed on as JSON, exactly as written, nulls included."""
    run = {**case.run, name: value}
    others = {key: value for key, value in (case.profile or {}).items() if key != name} if case.profile else None
    manifests = loaded(compiled(Case(run, others, case.platform)).to_yaml())
    assert PLACES_READ[name](manifests)
    assert all(exactly(found) == exactly(value) for found in PLACES_READ[name](manifests))


PLACES_READ = {name: parameter(name) for name in ("inputs", "parameters")}
