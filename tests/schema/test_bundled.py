"""Schemas, templates and golden cases keep one another honest: what one of them names, the others know."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers.command_line import GOOD, job
from helpers.paths import GOLDEN, ROOT
from jinja2 import Environment, meta, nodes
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from speccompile.compiler.approve import approve
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.documents.admin_config import Setting, prepare
from speccompile.compiler.documents.entities import split_entities, with_entities
from speccompile.compiler.documents.run import read_run
from speccompile.compiler.documents.run_forms import flatten
from speccompile.compiler.merge import STRATEGIES, merge
from speccompile.compiler.plan import plan
from speccompile.compiler.rendering.jinja_environment import environment_of
from speccompile.files.load import load
from speccompile.model.documents import Document
from speccompile.model.key_spelling import spelled
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source
from speccompile.model.spec import Plan
from speccompile.schema.library import Library, Schema
from speccompile.yaml_text.from_python import wrap

FILES = sorted((ROOT / "schemas").glob("*.json"))
ACCEPTED = sorted((GOLDEN / "accept").iterdir())
TEMPLATES = sorted(name for name in bundled_library().templates if name.endswith(".j2"))

_DECLARING = ("items", "additionalProperties")
_DECLARING_MAPS = ("properties", "patternProperties", "$defs")
"""Keywords under which properties are declared; `if`, `then` and `not` only restrict them."""


class Declaration(NamedTuple):
    """A property as a schema declares it."""

    where: str
    file: str
    schema: Schema


def declarations(library: Library, *files: str) -> Iterator[Declaration]:
    """Every property of the schemas, however deep."""
    for file in files or sorted(library.schemas):
        yield from _declared(library.schemas[file], file, file)


def _declared(schema: Any, where: str, file: str) -> Iterator[Declaration]:
    if not isinstance(schema, Mapping):
        return
    for name, child in schema.get("properties", {}).items():
        yield Declaration(f"{where}.{name}", file, child)
    for keyword in _DECLARING:
        yield from _declared(schema.get(keyword), f"{where}.{keyword}", file)
    for keyword in _DECLARING_MAPS:
        for name, child in schema.get(keyword, {}).items():
            yield from _declared(child, f"{where}.{name}", file)


def _schemas_within(schema: Any) -> Iterator[Schema]:
    """Every mapping inside a schema, conditions included."""
    if isinstance(schema, Mapping):
        yield schema
    if isinstance(schema, (Mapping, list)):
        for child in schema.values() if isinstance(schema, Mapping) else schema:
            yield from _schemas_within(child)


def _own_validator(declaration: Declaration, library: Library) -> Validator:
    """The validator of one property; it follows references and checks formats like the whole schema's."""
    return library.validator(declaration.file).evolve(schema=dict(declaration.schema))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_schema_file_is_a_schema(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].rpartition("/")[2] == path.name
    Draft202012Validator.check_schema(schema)


def test_every_schema_file_is_bundled(library: Library) -> None:
    assert [path.name.removesuffix(".schema.json") for path in FILES] == sorted(library.schemas)


def test_every_property_is_described(library: Library) -> None:
    """Except in base documents, whose properties are those of Kubernetes."""
    silent = [
        declaration.where
        for declaration in declarations(library, *(library.schemas.keys() - {"base"}))
        if not str(library.resolve(declaration.schema).get("description", "")).strip()
    ]
    assert silent == []


def test_every_default_and_example_is_valid(library: Library) -> None:
    faulty = [
        (declaration.where, value, error.message)
        for declaration in declarations(library)
        for value in (
            *([declaration.schema["default"]] if "default" in declaration.schema else []),
            *declaration.schema.get("examples", ()),
        )
        for error in _own_validator(declaration, library).iter_errors(value)
    ]
    assert faulty == []


def test_every_field_shows_an_example(library: Library) -> None:
    assert [name for name, schema in library.fields.items() if not schema.get("examples")] == []


def test_every_merge_strategy_is_known(library: Library) -> None:
    named = {
        inner["x-merge"]
        for schema in library.schemas.values()
        for inner in _schemas_within(schema)
        if isinstance(inner.get("x-merge"), str)
    }
    assert named - STRATEGIES.keys() == set()
    assert STRATEGIES.keys() - named == {"replace"}, "a strategy that no field uses; `replace` is the one nobody names"


def test_items_merge_by_a_key_that_they_must_have(library: Library) -> None:
    keyed = {name: schema for name, schema in library.fields.items() if schema.get("x-merge") == "keyed"}
    for name, schema in keyed.items():
        assert schema["x-key"] in library.resolve(schema["items"])["required"], name


class Uses:
    """The properties that documents use, with the scalars they give them; null is not using."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._values: dict[int, set[object]] = {}

    def add(self, node: Node, schema: Schema) -> None:
        schema = self._library.resolve(schema)
        properties = schema.get("properties", {})
        for written, child in node.fields.items():
            declared = properties.get(spelled(written, properties))
            if declared is not None and child.value is not None:
                self._values.setdefault(id(declared), set()).update({child.value} if child.is_scalar else ())
            others = schema.get("additionalProperties")
            self.add(child, declared or (others if isinstance(others, Mapping) else {}))
        for item in node.items:
            self.add(item, schema.get("items", {}))

    def __contains__(self, declaration: Declaration) -> bool:
        return id(declaration.schema) in self._values

    def values(self, schema: Schema) -> set[object]:
        return self._values.get(id(schema), set())


def _documents(layer: Layer, *patterns: str) -> Iterator[Document]:
    """The documents of all golden cases that match one of the patterns."""
    for path in (path for case in ACCEPTED for pattern in patterns for path in case.glob(pattern)):
        parsed = load(path, layer)
        assert parsed.findings == (), path
        yield from parsed.documents


def _used_by_runs(library: Library) -> Uses:
    uses = Uses(library)
    for document, setting in _runs(library):
        fields = flatten(document, setting.entities, setting.platform, library).fields
        assert fields is not None, document.source.name
        uses.add(fields, library.schemas["run"])
    return uses


def _runs(library: Library) -> Iterator[tuple[Document, Setting]]:
    """The runs of all golden cases, each with the platform and the functions of its case."""
    for path in (path for case in ACCEPTED for name in ("run.yaml", "run.json") for path in case.glob(name)):
        setting = _setting(path.parent, library)
        runs, others = split_entities(load(path, Layer.RUN).documents)
        entities, _ = with_entities(setting.entities, others, library)
        yield from ((document, setting._replace(entities=entities)) for document in runs)


def _setting(case: Path, library: Library) -> Setting:
    platform = case / "platform.yaml"
    return prepare(
        (load(file, Layer.PROFILE) for file in sorted(case.glob("profiles/*"))),
        load(platform, Layer.PLATFORM) if platform.exists() else None,
        library,
        functions=(load(file, Layer.FUNCTION) for file in sorted(case.glob("functions/*"))),
    )


def test_every_field_has_a_golden_run(library: Library) -> None:
    """Or a golden profile, for a field of one target: runs cannot set some of these."""
    uses = _used_by_runs(library)
    target_fields = {name: schema for name, schema in library.fields.items() if "x-targets" in schema}
    for document in _documents(Layer.PROFILE, "profiles/*"):
        uses.add(document.root, {"properties": target_fields})
    # Keys without an effect never reach a field.
    unused = {"x-ignored", "x-missing"}
    wanted = [one for one in declarations(library, "run", "fields", "placement") if unused.isdisjoint(one.schema)]
    assert [declaration.where for declaration in wanted if declaration not in uses] == []


def test_every_volume_type_has_a_golden_run(library: Library) -> None:
    declared = library.schemas["fields"]["$defs"]["volume"]["properties"]["volume_type"]
    assert set(declared["enum"]) - _used_by_runs(library).values(declared) == set()


@pytest.mark.parametrize(
    ("name", "files", "layer"),
    [
        ("profile", "profiles/*", Layer.PROFILE),
        ("platform", "platform.yaml", Layer.PLATFORM),
        ("project", "speccompile.yaml", Layer.PLATFORM),
    ],
)
def test_every_setting_has_a_golden_file(name: str, files: str, layer: Layer, library: Library) -> None:
    uses = Uses(library)
    for document in _documents(layer, files):
        uses.add(document.root, library.schemas[name])
    assert [declaration.where for declaration in declarations(library, name) if declaration not in uses] == []


def test_every_template_has_a_golden_case(library: Library) -> None:
    fresh = library.but(library.templates)
    for case in ACCEPTED:
        if (case / "run.yaml").exists():
            for _ in compile_files([load(case / "run.yaml", Layer.RUN)], _setting(case, fresh)):
                pass
    loaded = {name for _, name in environment_of(fresh).cache or ()}
    assert {*TEMPLATES} - loaded == set()


def _plan(library: Library) -> Plan:
    setting = prepare((), None, library)
    data = {"name": "train", "action": "job", "image": "python:3.12"}
    document = wrap(data, Source("<run>", "", Layer.RUN)).documents[0]
    run, profile, target, _, _ = read_run(document, setting)
    merged, _ = merge(run, profile, target, setting.platform, library)
    return plan(approve(merged, library)[0], library)


def _parsed(template: str, library: Library) -> nodes.Template:
    environment = Environment(autoescape=True)
    environment.filters |= dict.fromkeys(("each", "b64encode", "b64decode"), str)
    return environment.parse(library.templates[template])


def _set_in(template: str, library: Library) -> set[str]:
    """The variables that a template sets; those that it includes or extends can use them."""
    parsed = _parsed(template, library)
    targets = [one.target for one in parsed.find_all(nodes.Assign)]
    targets += [one.target for one in parsed.find_all(nodes.AssignBlock)]
    names = (*targets, *(name for target in targets for name in target.find_all(nodes.Name)))
    return {name.name for name in names if isinstance(name, nodes.Name)}


def _users(template: str, library: Library) -> set[str]:
    """The template, and those that include or extend it, directly or through others."""
    users = {template}
    pending = [template]
    for used in pending:
        pending += sorted({name for name, text in library.templates.items() if f'"{used}"' in text} - users)
        users |= {*pending}
    return users


@pytest.mark.parametrize("template", TEMPLATES)
def test_templates_use_only_what_the_plan_provides(template: str, library: Library) -> None:
    passed = {name for user in _users(template, library) for name in _set_in(user, library)}
    undeclared = meta.find_undeclared_variables(_parsed(template, library))
    assert undeclared - {*_plan(library).context, "item"} - passed == set()


@pytest.mark.parametrize("template", TEMPLATES)
def test_templates_include_only_templates_that_exist(template: str, library: Library) -> None:
    constants = _parsed(template, library).find_all(nodes.Const)
    named = {one.value for one in constants if isinstance(one.value, str) and one.value.endswith(".j2")}
    assert named - library.templates.keys() == set()


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff"])
def test_prebuilt_skeletons_only_make_rendering_faster(content: bytes | None, tmp_path: Path) -> None:
    """In an incomplete or damaged installation."""
    for folder in ("speccompile", "schemas", "templates", "presets"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pyproject.toml").touch()
    prebuilt = tmp_path / "speccompile/compiler/rendering/prebuilt_skeletons.json"
    prebuilt.unlink()
    if content is not None:
        prebuilt.write_bytes(content)
    command = [sys.executable, "-m", "speccompile", "render", "-", "--no-cache"]
    done = subprocess.run(command, input=GOOD, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, job("train"), "")
