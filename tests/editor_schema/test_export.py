"""Editor schemas accept and reject files as the compiler does, as far as JSON Schema can."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from helpers.editor_schemas import CHECKER, UNSEEN, pointed, schemas_in, written
from helpers.paths import GOLDEN
from helpers.plain_data import paths
from hypothesis import assume, event, example, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from speccompile.cli.main import main
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.choose_manifests import target_of
from speccompile.compiler.documents.entities import type_of_entity
from speccompile.compiler.documents.platform import read_platform
from speccompile.compiler.documents.run import _check_target
from speccompile.compiler.documents.run_forms import flatten
from speccompile.editor_schema.export import NOUNS, _entity_fields, run_actions, schema_of, schema_text
from speccompile.editor_schema.format_patterns import (
    FORMAT_PATTERNS,
    Bounds,
    anchored,
    is_portable,
    quantities_equal_to,
    quantities_within,
)
from speccompile.files.load import load
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.documents import Document
from speccompile.model.quantity import QuantityError, parse_quantity
from speccompile.model.source import Layer, Source
from speccompile.schema.formats.by_name import FORMAT_CHECKS
from speccompile.schema.validate import validate
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import platforms, profiles, runs
from speccompile.testing.strategies.node_placement import PREFERRED_AFFINITY, REQUIRED_AFFINITY
from speccompile.testing.strategies.resources import quantities
from speccompile.testing.strategies.text import any_texts, json_trees
from speccompile.yaml_text.from_python import wrap

LIBRARY = bundled_library()
PLATFORM = read_platform(None, LIBRARY)[0]
SCHEMAS = {noun: schema_of(noun, LIBRARY) for noun in NOUNS}
VALIDATORS = {noun: Draft7Validator(schema, format_checker=CHECKER) for noun, schema in SCHEMAS.items()}
FILES = {
    "run": ("run.yaml", "run.json"),
    "profile": ("profiles/*",),
    "platform": ("platform.yaml",),
    "project": ("speccompile.yaml",),
}


def findings(document: Document, noun: str) -> tuple[Diagnostic, ...]:
    """The errors that a document alone shows, before anything is made of its values.

    The functions and tasks that it names are in other documents.
    """
    return tuple(one for one in _all_findings(document, noun) if not one.code.startswith("function/"))


def _all_findings(document: Document, noun: str) -> tuple[Diagnostic, ...]:
    if noun == "run":
        flat = flatten(document, {}, PLATFORM, LIBRARY)
        if flat.fields is None:
            return flat.findings
        tree, found = validate(flat.fields, "run", LIBRARY)
        # The target depends on the profile, which is not part of the document; some actions no target has.
        action = tree.fields.get("action")
        is_unknown = action is not None and action.value not in run_actions(LIBRARY)
        foreign = _check_target(tree, None, target_of(None, LIBRARY), LIBRARY, knows_target=is_unknown)
        return tuple(one for one in (*flat.findings, *found, *foreign) if one.severity is Severity.ERROR)
    kind = document.root.fields.get("kind")
    name = "base" if noun == "profile" and kind is not None and kind.value is not None else noun
    return tuple(one for one in validate(document.root, name, LIBRARY)[1] if one.severity is Severity.ERROR)


def is_unseen(found: Diagnostic, document: Document) -> bool:
    """Whether no editor can see it; to JSON Schema, 1.0 is a whole number."""
    floats = (node.value for _, node in document.root.walk() if isinstance(node.value, float))
    return found.code in UNSEEN or (found.code == "schema/wrong-type" and any(map(float.is_integer, floats)))


def agree(document: Document, noun: str) -> None:
    """Asserts that schema and compiler think alike of the document."""
    faults = list(VALIDATORS[noun].iter_errors(document.root.plain()))
    # The compiler ignores a null even under an unknown key; editors report the key.
    faults = [
        fault for fault in faults if "propertyNames" not in fault.schema_path or not _is_null(fault.instance, document)
    ]
    found = findings(document, noun)
    if any(one.code == "run/not-compiled" for one in found):
        # The platform decides which runtimes there are.
        return
    if not found:
        assert [fault.message for fault in faults if not _is_read_otherwise(fault.instance, document)] == []
    elif not all(is_unseen(one, document) for one in found):
        assert faults != [], [(one.code, one.message) for one in found]


def _is_read_otherwise(value: object, document: Document) -> bool:
    """Whether the compiler reads a value of an exported run as another one, which editors report."""
    is_converted = isinstance(value, (int, float)) or (
        # A blank string is unset, and a whole number may be in quotes.
        isinstance(value, str) and (not value.strip() or re.fullmatch("-?[0-9]{1,18}", value) is not None)
    )
    return type_of_entity(document.root) is Layer.RUN and is_converted


def _is_null(key: object, document: Document) -> bool:
    return any(path[-1:] == (key,) and node.value is None for path, node in document.root.walk())


def _golden() -> Iterator[Any]:
    for noun, patterns in FILES.items():
        for path in sorted(path for pattern in patterns for path in GOLDEN.glob(f"*/*/{pattern}") if path.is_file()):
            yield pytest.param(noun, path, id=str(path.relative_to(GOLDEN)))


@pytest.mark.parametrize(("noun", "path"), list(_golden()))
def test_a_schema_says_of_a_golden_file_what_the_compiler_says(noun: str, path: Path) -> None:
    for document in load(path, Layer.RUN).documents:
        kind = document.root.fields.get("kind")
        is_entity = type_of_entity(document.root) not in (None, Layer.RUN)
        if (kind is None or kind.value != "ConfigMap") and not is_entity:
            agree(document, noun)


def test_what_editors_do_not_see_has_golden_cases() -> None:
    """Otherwise the table of it would excuse what nobody knows."""
    diagnostics = "".join(path.read_text(encoding="utf-8") for path in GOLDEN.glob("reject/*/diagnostics.txt"))
    assert [code for code in UNSEEN if f"[{code}]" not in diagnostics] == []


UNUSUAL: tuple[Any, ...] = (None, "", 0, -1, 1.0, 2.5, True, [], {}, "8Gi", "a b", "-0", "x" * 300, [None], {"a": None})
KEYS = ("x", "name", "kind", "apiVersion", "metadata", "spec", "labels", "Image", "id", "requests", "sub_path")


@st.composite
def spoilt(draw: st.DrawFn, documents: st.SearchStrategy[Data]) -> Data:
    """A document with something unusual in it, most of the time."""
    data: Data = json.loads(json.dumps(draw(documents)))
    for _ in range(draw(st.sampled_from((0, 1, 1, 2))) if data else 0):
        *above, last = draw(st.sampled_from(paths(data)[1:]))
        place: Any = data
        for step in above:
            place = place[step]
        how = draw(st.sampled_from(("replace", "replace", "drop", "add")))
        if how == "drop":
            del place[last]
        elif how == "replace":
            place[last] = draw(st.sampled_from(UNUSUAL) | json_trees())
        elif isinstance(place, dict):
            place[draw(st.sampled_from(KEYS))] = draw(st.sampled_from(UNUSUAL))
        if not data:
            break
    return data


def _enforcing(platform: Data, profile: Data) -> Data:
    fields = {name: value for name, value in profile.items() if name not in ("id", "name", "description")}
    return {**platform, "enforce": fields, "rules": {"resources.mem": {"max": "8Gi"}}, "forbid": ["affinity"]}


DOCUMENTS = {
    "run": runs() | st.builds(written, runs(spelling=False), st.sampled_from(("kubernetes", "entity"))),
    "profile": profiles(),
    "platform": st.builds(_enforcing, platforms(), profiles()),
}


@pytest.mark.parametrize("noun", DOCUMENTS)
@given(data=st.data())
def test_a_schema_says_of_any_document_what_the_compiler_says(noun: str, data: st.DataObject) -> None:
    parsed = wrap(data.draw(spoilt(DOCUMENTS[noun])), Source(f"<{noun}>", "", Layer.RUN))
    assume(not parsed.findings)
    agree(parsed.documents[0], noun)


VOLUME = {"volume_type": "config_map", "name": "v", "mount_path": "/v"}


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "container+job:run", "id": "a", "spec": {"image": "python"}},
        {"kind": "container+job:run", "metadata": {"name": "a", "updated": None}, "spec": {}},
        {"kind": "container+job:run", "id": "", "metadata": {"name": "a"}, "spec": {"name": None}},
        {"kind": "container+job:run", "id": "", "spec": {}},
        {"kind": "container+job:run", "name": "a", "spec": {"name": "b"}},
        {"kind": "container+job:run", "spec": {"name": "b", "project": "c"}},
        {"kind": "container+job:run", "project": "c", "spec": {"name": "b", "project": "c"}},
        {"kind": "container+job:run", "name": "a", "spec": {"localExecution": 1, "task": None, "replicas": 1}},
        {"kind": "container+build:run", "name": "a", "spec": {}},
        {"kind": None, "apiVersion": None, "name": "a", "action": "job"},
        {"kind": "Run", "name": "a", "action": "job"},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}},
        {"apiVersion": "speccompile.dev/v1alpha1", "kind": "Run", "metadata": {"name": ""}, "spec": {"action": "job"}},
        {"name": "a", "action": "job", "replicas": None, "imagePullPolicy": "Never"},
        {"name": "a", "action": "job", "replicas": 1},
        {"name": "a", "action": None},
        {"name": "a", "action": "job", "volumes": [{"volumeType": "image", "name": "v", "mountPath": "/v"}]},
        {
            "name": "a",
            "action": "job",
            "volumes": [
                {"volumeType": "image", "name": "v", "mountPath": "/v", "spec": {"reference": "a", "size": None}}
            ],
        },
        {"name": "a", "action": "job", "tolerations": [{"key": "k", "tolerationSeconds": 1, "effect": None}]},
        {"name": "a", "action": "job", "tolerations": [{"key": "k", "toleration_seconds": None}]},
        {
            "name": "a",
            "action": "job",
            "affinity": {"podAffinity": {REQUIRED_AFFINITY: [{"topologyKey": "z", "matchLabelKeys": []}]}},
        },
        {
            "name": "a",
            "action": "job",
            "affinity": {"podAffinity": {REQUIRED_AFFINITY: [None]}, "podAntiAffinity": None},
        },
        {
            "name": "a",
            "action": "job",
            "affinity": {"podAffinity": {PREFERRED_AFFINITY: [{"weight": 1, "podAffinityTerm": None}]}},
        },
        {
            "name": "a",
            "action": "job",
            "affinity": {"node_affinity": {PREFERRED_AFFINITY: [{"weight": 1, "preference": {"matchFields": None}}]}},
        },
        {"name": "a", "action": "job", "volumes": [{**VOLUME, "spec": {"data": {"a": None}}}]},
        {"name": "a", "action": "job", "volumes": [{**VOLUME, "spec": {"data": {"a": None, "b": ""}}}]},
    ],
    ids=json.dumps,
)
def test_a_schema_knows_forms_spellings_and_nulls(data: Data) -> None:
    agree(wrap(data, Source("<run>", "", Layer.RUN)).documents[0], "run")


@pytest.mark.parametrize(
    "data",
    [
        {"name": "a", "action": "job", "secrets": ["A", "A"]},
        {
            "apiVersion": "speccompile.dev/v1alpha1",
            "kind": "Run",
            "metadata": {"name": "a", "labels": {"a": "b"}},
            "spec": {"action": "job", "labels": {"a": "b"}},
        },
        {
            "apiVersion": "speccompile.dev/v1alpha1",
            "kind": "Run",
            "metadata": {"name": "a"},
            "spec": {"action": "job", "name": "a"},
        },
        {"kind": "container+job:run", "name": "a", "spec": {"action": "job"}},
    ],
    ids=json.dumps,
)
def test_a_schema_sees_some_of_what_is_said_twice(data: Data) -> None:
    assert not VALIDATORS["run"].is_valid(data)


@pytest.mark.parametrize(
    ("data", "is_good"),
    [({"a.yaml": "id: a"}, True), ({}, False), ({"a.yaml": None}, False), (None, False), ({"a.yaml": {}}, False)],
)
def test_a_profile_file_may_be_a_config_map(data: Any, is_good: bool) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "profiles"}, "data": data}
    assert VALIDATORS["profile"].is_valid(document) is is_good


# What editors can read


@pytest.mark.parametrize("noun", NOUNS)
def test_a_schema_stands_alone(noun: str) -> None:
    schema = SCHEMAS[noun]
    Draft7Validator.check_schema(schema)
    assert schema["$id"].startswith("https://speccompile.dev/")
    for inner in schemas_in(schema):
        reference = inner.get("$ref", "#")
        assert isinstance(reference, dict) or reference.startswith("#")
        assert set(inner) & {"$ref"} == set() or set(inner) == {"$ref"}, "draft 7 reads nothing beside a reference"
        assert not [key for key in inner if key.startswith("x-")]


@pytest.mark.parametrize(("noun", "most"), [("run", 120_000), ("profile", 220_000), ("platform", 140_000)])
def test_a_schema_is_small_enough_to_commit(noun: str, most: int) -> None:
    text = schema_text(noun, LIBRARY)
    assert json.loads(text) == SCHEMAS[noun]
    assert len(text.encode()) <= most


def test_a_property_has_a_line_of_its_own() -> None:
    text = schema_text("run", LIBRARY)
    for key, schema in SCHEMAS["run"]["definitions"]["flat"]["properties"].items():
        assert f'\n"{key}": {json.dumps(schema, ensure_ascii=False, separators=(",", ":"))}' in text


@pytest.mark.parametrize("noun", NOUNS)
def test_every_reference_leads_somewhere(noun: str) -> None:
    for inner in schemas_in(SCHEMAS[noun]):
        if isinstance(inner.get("$ref"), str):
            assert isinstance(pointed(SCHEMAS[noun], inner["$ref"]), dict)


def test_every_field_can_be_hovered_over_and_completed() -> None:
    definitions = SCHEMAS["run"]["definitions"]
    for name, field in LIBRARY.fields.items():
        assert definitions[name]["description"] == field["description"]
        if name not in _entity_fields(LIBRARY):
            assert definitions["flat"]["properties"][name] == {"$ref": f"#/definitions/{name}"}


def test_other_spellings_are_accepted_and_not_proposed() -> None:
    properties = SCHEMAS["run"]["definitions"]["flat"]["properties"]
    assert properties["runAsUser"] == {"allOf": [{"$ref": "#/definitions/run_as_user"}], "doNotSuggest": True}


def test_the_same_bytes_come_out_under_any_hash_seed() -> None:
    script = (
        "from speccompile.compiler.bundled_library import bundled_library as l\n"
        "from speccompile.editor_schema.export import *\n"
        "import sys; sys.stdout.buffer.write(''.join(schema_text(n, l()) for n in NOUNS).encode())"
    )
    expected = "".join(schema_text(noun, LIBRARY) for noun in NOUNS).encode()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        assert done.stdout == expected


# Expressions

WITHOUT_EXPRESSION = {
    "alias-pattern",
    "key-prefix",
    "label-key-pattern",
    "name-pattern",
    "placeholders",
    "port-pattern",
    "volume-pattern",
}
EXACT = {
    "annotation-key",
    "config-key",
    "dns-1035-label",
    "dns-label",
    "dns-subdomain",
    "env-name",
    "extended-resource",
    "gpu-name",
    "label-key",
    "label-value",
    "secret-id",
    "user-id",
}
"""Formats whose pattern is exact."""
WORDS = (
    *("", ".", "..", "..a", "a", "A", "a.b", "-a", "a-", "a\n", "a b", "é", "\u2028", "hugepages-2Mi", "cpu"),
    *("a" * 63, "a" * 64, "a" * 253, "a" * 254, "a." * 126 + "a", "a" * 245 + "/b"),
    *("a/b", "requests.a/b", "requests", "limits", "{project}-x", "ghcr.io/a:1", "a@sha256:" + "0" * 64),
    *("0", "1", "01", "-0", "8Gi", ".5", "1e3", "+1", "2147483647", "2147483648"),
    *("@daily", "@every 1h", "1 2 3 4 5", "/a/..b", "/a/../b", "/a//b", "../a", "a/.."),
)


def test_every_format_has_an_expression_or_none_on_purpose() -> None:
    assert FORMAT_CHECKS.keys() - FORMAT_PATTERNS.keys() == WITHOUT_EXPRESSION
    assert FORMAT_PATTERNS.keys() <= FORMAT_CHECKS.keys()


@pytest.mark.parametrize("name", sorted(FORMAT_PATTERNS))
@given(data=st.data())
def test_an_expression_refuses_nothing_that_its_format_accepts(name: str, data: st.DataObject) -> None:
    pattern = FORMAT_PATTERNS[name].pattern
    text = data.draw(
        st.sampled_from(WORDS) | st.from_regex(pattern) | any_texts() | st.text("aA0-./_:@ {}", max_size=8)
    )
    is_good = FORMAT_CHECKS[name](text) is None
    if is_good or name in EXACT:
        assert bool(re.search(pattern, text)) is is_good


@pytest.mark.parametrize("name", sorted(FORMAT_PATTERNS))
def test_an_expression_agrees_with_its_format_on_words(name: str) -> None:
    for word in WORDS:
        is_good = FORMAT_CHECKS[name](word) is None
        assert is_good <= bool(re.search(FORMAT_PATTERNS[name].pattern, word)), word
        assert name not in EXACT or bool(re.search(FORMAT_PATTERNS[name].pattern, word)) is is_good, word


_units = st.sampled_from(("", "m", "k", "M", "Ki", "Mi", "Gi", "Ti"))
_numbers = (
    st.integers(0, 20) | st.sampled_from((".5", "1.", "0.25", "99", "1000", "1024")) | st.decimals(0, 10**6, places=4)
)
_amounts = quantities().map(str) | st.builds("{}{}".format, _numbers, _units)


def _value(text: str) -> Fraction | None:
    try:
        return parse_quantity(text).value
    except QuantityError:
        return None


@given(_amounts, _amounts, _amounts)
@example("8Gi", "0", "8192Mi")
@example(".5Gi", "512Mi", "1")
@example(".5Gi", "8Gi", "0")
@example("9", "8", "9")
@example("89", "88", "100")
@example("1500m", "1.5", "1.5")
def test_a_quantity_matches_the_expression_of_its_bounds(text: str, one: str, other: str) -> None:
    value, bounds = _value(text), sorted(bound for bound in map(_value, (one, other)) if bound is not None)
    assume(value is not None and len(bounds) == 2 and not re.search("[nueE]", text.replace("Ei", "")))
    assert value is not None
    # Nine digits behind the point are compared.
    assume(not re.search(r"\.[0-9]{9}", text) and all((bound * 10**6).denominator == 1 for bound in bounds))
    least, most = bounds
    event("within" if least <= value <= most else "beyond")
    assert bool(re.search(quantities_within(Bounds(least, most)), text)) is (least <= value <= most)
    assert bool(re.search(quantities_within(Bounds(least=least)), text)) is (least <= value)
    assert bool(re.search(quantities_equal_to([least, most]), text)) is (value in bounds)


@given(quantities().map(str), quantities().map(str))
def test_a_quantity_within_its_bounds_is_never_refused(text: str, bound: str) -> None:
    value, most = _value(text), _value(bound)
    assume(value is not None and most is not None)
    assert value is not None
    assert most is not None
    if value <= most:
        assert re.search(quantities_within(Bounds(most=most)), text)


@pytest.mark.parametrize(
    ("pattern", "portable"),
    [
        (r"ghcr\.io/acme/.+", True),
        ("[ -~]*", True),
        ("(?!localhost).+", True),
        ("(?:a|b)?[a-z]{1,3}?c?", True),
        ("(a+)+b", False),
        ("(?:a|b){1,3}c", False),
        ("(?P<x>a)", False),
        ("(?i)a", False),
        (r"\d+", False),
        (r"a\Z", False),
        ("é", False),
        ("a*+", False),
        ("[a&&b]", True),
        ("(?=a)*b", False),
        ("(?!a){2}b", False),
        ("(?=a)b*(c)", True),
    ],
)
def test_only_a_pattern_that_editors_read_alike_is_handed_on(pattern: str, portable: bool) -> None:
    assert is_portable(pattern) is portable


def test_a_whole_text_has_no_line_end_behind_it() -> None:
    assert re.search(anchored("a"), "a")
    assert not re.search(anchored("a"), "a\n")


# The command


@pytest.mark.parametrize("noun", NOUNS)
def test_the_command_prints_the_schema(noun: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", noun]) == 0
    assert capsys.readouterr() == (schema_text(noun, LIBRARY), "")


PROFILE = "id: 1xa100\nresources: {gpu: 1}\nrules: {resources.mem: {max: 8Gi, reason: the nodes have 16Gi}}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one profile, which is where the call is made."""
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "gpu.yaml").write_text(PROFILE)
    (tmp_path / "speccompile.yaml").write_text("profiles: [profiles]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_is_written_and_written_again(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / "made" / "run.schema.json"
    for arguments in (["schema", "run"], ["schema", "run", "--profile", "1xa100"]):
        assert main([*arguments, "-o", str(file)]) == 0
        assert main(arguments) == 0
        assert capsys.readouterr() == (file.read_text(encoding="utf-8"), "")


def test_a_file_of_somebody_else_is_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "mine.json").write_text("{}")
    assert main(["schema", "run", "-o", "mine.json"]) == 1
    assert "mine.json" in capsys.readouterr().err
    assert (project / "mine.json").read_text() == "{}"


@pytest.mark.usefixtures("project")
def test_the_project_says_where_profiles_are_and_the_command_line_wins(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["schema", "run", "--profile", "1xa100"]) == 0
    schema = capsys.readouterr().out
    assert "profile `1xa100` (profiles/gpu.yaml:2) fixes this value: leave it out" in schema
    assert "requires at most `8Gi` (the nodes have 16Gi)" in schema
    (tmp_path / "other.yaml").write_text("id: other\n")
    assert main(["schema", "run", "--profile", "other", "--profiles", "other.yaml"]) == 0


def test_the_bytes_are_the_same_wherever_the_call_is_made(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "platform.yaml").write_text("preset: digitalhub\nceilings: {cpu: 8}\n")
    (project / "speccompile.yaml").write_text("profiles: [profiles]\nplatform: platform.yaml\n")
    (project / "runs").mkdir()
    calls: tuple[tuple[str, list[str]], ...] = (
        (".", []),
        ("runs", []),
        ("..", ["--project", f"{project.name}/speccompile.yaml"]),
        ("runs", ["--profiles", "../profiles", "--platform", str(project / "platform.yaml")]),
    )
    texts = set()
    for folder, more in calls:
        monkeypatch.chdir(project / folder)
        assert main(["schema", "run", "--profile", "1xa100", *more]) == 0
        texts.add(capsys.readouterr().out)
    (text,) = texts
    assert "(profiles/gpu.yaml:2)" in text
    assert "(platform.yaml:2)" in text


def test_without_a_project_files_are_called_as_they_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "gpu.yaml").write_text(PROFILE)
    monkeypatch.chdir(tmp_path / "here")
    for file in ("../gpu.yaml", str(tmp_path / "gpu.yaml")):
        assert main(["schema", "run", "--profile", "1xa100", "--profiles", file]) == 0
        assert f"({file}:2)" in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_the_default_profile_need_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "run", "--profile", "default"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Run without a profile"


@pytest.mark.usefixtures("project")
def test_an_unknown_profile_is_told_with_a_near_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "run", "--profile", "1xa10"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "profile/unknown" in err
    assert "did you mean `1xa100`?" in err


def test_a_broken_profile_gives_no_schema(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "profiles" / "bad.yaml").write_text("id: bad\nimmage: x\n")
    assert main(["schema", "run", "--profile", "1xa100"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "bad.yaml:2:1" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["schema"], "missing KIND (one of `run`, `profile`, `platform`, `project`)"),
        (["schema", "runs"], "invalid choice"),
        (["schema", "profile", "--profile", "a"], "--profile applies to `schema run` only"),
        (["schema", "run", "--platform", "digitalhub"], "--platform needs --profile ID"),
        (["schema", "run", "--profile", "a"], "pass --profiles PATH"),
        (["schema", "run", "-o", ""], "the path is empty"),
    ],
)
def test_a_call_without_sense_is_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
