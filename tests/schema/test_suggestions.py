"""Near names, names of other tools, and values in the form that a field expects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.key_path import KeyPath
from speccompile.model.source import Layer, Source
from speccompile.schema.bundled import foreign_names_text
from speccompile.schema.foreign_names import translate_name, translate_value
from speccompile.schema.suggestions import near, suggest_key
from speccompile.schema.validate import validate
from speccompile.schema.value_forms import field_at, flow_text, show_form
from speccompile.testing.strategies.text import json_trees
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parse import parse

LIBRARY = bundled_library()
TABLES: Mapping[str, Mapping[str, str]] = yaml.safe_load(foreign_names_text())
HERE = Source("run.yaml", "", Layer.RUN)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("gpus", ["cpu", "gpu"], "gpu"),
        ("imgae", ["image", "name"], "image"),
        ("Always", ["always"], "always"),
        ("resuorce", ["resources"], "resources"),
        ("desc", ["description", "name"], "description"),
        ("required_during", ["requiredDuringScheduling", "preferredDuringScheduling"], "requiredDuringScheduling"),
        ("allow_existing_volumes", ["allow_existing", "allowed_types"], "allow_existing"),
        ("gpu", ["nvidia.com/gpu", "amd.com/cpu"], "nvidia.com/gpu"),
        ("h100", ["1xa100"], None),
        ("gpus", ["inputs"], None),
        ("mem", ["name"], None),
        ("namespace", ["name"], None),
        ("service", ["service_type", "service_ports"], None),
        ("x" * 10**6, ["image"], None),
        ("", ["a"], None),
    ],
)
def test_a_near_name_is_within_two_edits_or_extends_the_other(
    name: str, known: list[str], expected: str | None
) -> None:
    assert near(name, known) == expected


@given(st.text("abc", min_size=5, max_size=8), st.data())
def test_two_edits_are_near(name: str, data: st.DataObject) -> None:
    edited = list(name)
    for _ in range(2):
        at = data.draw(st.integers(0, len(edited) - 1))
        match data.draw(st.sampled_from(["replace", "insert", "swap"])):
            case "replace":
                edited[at] = "x"
            case "insert":
                edited.insert(at, "x")
            case "swap":
                edited[at : at + 2] = reversed(edited[at : at + 2])
    assert near("".join(edited), [name]) == name


# Names of other tools


PLACES: Mapping[str, KeyPath] = {
    "run": (),
    "fields": (),
    "resources": ("resources",),
    "amount": ("resources", "mem"),
    "gpu": ("resources", "gpu"),
    "volume": ("volumes", 0),
    "volume_spec": ("volumes", 0, "spec"),
    "port": ("service_ports", 0),
    "variable": ("envs", 0),
    "constraint": ("rules", "image"),
    "profile": (),
    "platform": (),
}
SCHEMAS = {"profile": "profile", "constraint": "profile", "platform": "platform"}


@pytest.mark.parametrize("table", PLACES)
def test_names_of_other_tools_are_unknown_here_and_translated(table: str) -> None:
    path = PLACES[table]
    allowed = field_at(path, LIBRARY.schemas[SCHEMAS.get(table, "run")], LIBRARY).properties
    for name, text in TABLES[table].items():
        assert name not in allowed
        assert " " in text or text in allowed, name
        help_text = translate_name(name, (*path, name), tuple(allowed))
        assert help_text == (text if " " in text else f"write `{text}` instead"), name
    assert [*TABLES[table]] == sorted(TABLES[table])
    assert all(one != two for one, two in pairwise(TABLES[table]))


def test_every_table_is_used() -> None:
    assert TABLES.keys() == {*PLACES, "action", "python_version", "volume_type"}


@pytest.mark.parametrize(
    "name", sorted({name for table in PLACES for name in TABLES[table] if "_" in name and table == "fields"})
)
def test_camel_case_is_translated_too(name: str) -> None:
    allowed = tuple(LIBRARY.resolve(LIBRARY.schemas["run"])["properties"])
    camel = re.sub("_([a-z])", lambda match: match[1].upper(), name)
    assert translate_name(camel, (camel,), allowed) == translate_name(name, (name,), allowed)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("enviroment", "write `envs` instead"),
        ("entrypont", "write `command` instead"),
        ("maxRetrys", None),
        ("img", "write `image` instead"),
        ("imag", "did you mean `image`?"),
        ("xyzzy", None),
    ],
)
def test_misspelt_names_of_other_tools_are_translated(name: str, expected: str | None) -> None:
    allowed = tuple(LIBRARY.resolve(LIBRARY.schemas["run"])["properties"])
    assert suggest_key(name, (name,), allowed) == expected


@pytest.mark.parametrize("field", ["action", "volume_type"])
def test_values_of_other_tools_are_translated(field: str) -> None:
    path = (field,) if field == "action" else ("volumes", 0, field)
    # Actions are those of the target, and the others an enumeration.
    allowed = field_at(path, LIBRARY.schemas["run"], LIBRARY).schema.get("enum") or ("job", "deploy", "serve")
    for value, text in TABLES[field].items():
        assert value not in allowed
        assert " " in text or text in allowed
        assert translate_value(field, value, allowed)


def snippets() -> list[str]:
    """The fields with values that the tables suggest for runs."""
    texts = "\n".join(text for table in ("run", "fields", "resources") for text in TABLES[table].values())
    fields = LIBRARY.resolve(LIBRARY.schemas["run"])["properties"]
    written = {text for text in re.findall("`([^`]+)`", texts) if text.partition(":")[0] in fields and ": " in text}
    return sorted(written)


@pytest.mark.parametrize("snippet", snippets())
def test_suggested_fields_are_valid(snippet: str) -> None:
    text = snippet.replace("{…}", "{a: b}").replace("…", "x")
    key = text.partition(":")[0]
    lines = [f"{name}: {value}" for name, value in {"name": "a", "action": "job", "image": "b"}.items() if name != key]
    ((document,), ()) = parse(Source("run.yaml", "\n".join([*lines, text]), Layer.RUN))
    assert validate(document.root, "run", LIBRARY)[1] == ()


# Forms of values


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("args",), "--epochs 3", 'write a list: `["--epochs", "3"]`'),
        (("args",), "echo 'a b'", 'write a list: `["echo", "a b"]`'),
        (("args",), "it's", 'write a list: `["it\'s"]`'),
        (("args",), "a > b", 'write a list: `["a > b"]`'),
        (("args",), {"lr": 0.1, "debug": True, "off": False}, 'write a list: `["--lr", "0.1", "--debug"]`'),
        (("volumes",), {"data": "/data"}, "{name: data, volume_type: persistent_volume_claim, mount_path: /data}"),
        (("volumes", 0), "./data:/data:ro", "mount_path: /data, read_only: true}"),
        (("service_ports", 0), "80:8080/tcp", "write `{port: 80, target_port: 8080}`"),
        (("envs", 0), "A=b=c", "write `{name: A, value: b=c}`"),
        (("envs",), "A=1", 'write `envs: {A: "1"}`'),
        (("node_selector",), "gpu=a100", "write `node_selector: {gpu: a100}`"),
        (("profile",), ["x"], "write `profile: x`"),
        (("schedule",), {"cron": "0 4 * * *"}, 'write `schedule: "0 4 * * *"`'),
        (("resources",), [{"cpu": 2}, {"mem": "4Gi"}], "write `resources: {cpu: 2, mem: 4Gi}`"),
        (("resources",), "4Gi", "write `resources: {mem: 4Gi}`"),
        (("resources",), "4", "write, for example, `resources: "),
        (("deadline_seconds",), "2h", "write `deadline_seconds: 7200`"),
        (("suspend",), "yes", "write `suspend: true`"),
        (("replicas",), "2", "write `replicas: 2`"),
        (("replicas",), "two", "write, for example, `replicas: 2`"),
        (("annotations",), {"a": ["x"] * 100}, "write, for example, `annotations: "),
        (("envs", "API_SECRET"), ["x"], None),
        (("envs",), [{"API_SECRET": "x"}], "write, for example, `envs: {HF_HOME: /local-data/huggingface}`"),
        (("name",), ["a\u200bb"], 'write `name: "a\\u200bb"`'),
        (("args",), "word " * 100, "…`"),
    ],
)
def test_a_value_of_the_wrong_type_is_shown_in_the_right_form(path: KeyPath, value: Any, expected: str | None) -> None:
    ((document,), ()) = wrap(value, HERE)
    shown = show_form(document.root, field_at(path, LIBRARY.schemas["run"], LIBRARY))
    assert shown is None if expected is None else expected in str(shown)


@given(json_trees())
def test_flow_text_is_yaml_of_the_same_value(value: Any) -> None:
    ((document,), ()) = wrap({"a": value}, HERE)
    plain = document.root.plain()
    text = flow_text(plain)
    # A number such as 1e-05 is a string to YAML 1.1.
    assume(not re.search(r"\de[-+]?\d", text))
    read = parse(Source("a.yaml", text, Layer.RUN))
    assert not read.findings
    assert read.documents[0].root.plain() == plain


@given(st.sampled_from([*LIBRARY.resolve(LIBRARY.schemas["run"])["properties"]]), json_trees())
def test_no_value_breaks_the_help(name: str, value: Any) -> None:
    ((document,), ()) = wrap({"name": "a", "action": "job", "image": "b", name: value}, HERE)
    validate(document.root, "run", LIBRARY)
