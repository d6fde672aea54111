"""Runs that fill a page are accepted if and only if the ordinary path accepts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from helpers.command_line import piped
from helpers.kubernetes_objects import VERSIONS, api
from helpers.shapes import SCALARS, source, with_scalars
from hypothesis import given
from hypothesis import strategies as st

from speccompile.compiler.compile_files import compile_file, source_compiler
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.pipeline import compile_document
from speccompile.compiler.shapes.known_shapes import KnownShapes
from speccompile.compiler.shapes.split_text import split_text
from speccompile.files.load_admin_config import read_setting
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.findings import in_order
from speccompile.schema.library import Schema
from speccompile.testing.admin import AdminConfig
from speccompile.testing.admin_strategies import attempted
from speccompile.testing.plain_data import Data
from speccompile.verify import violations
from speccompile.verify.documents import may_have_objects, sorted_out
from speccompile.verify.fast_check import compile_predicate
from speccompile.verify.server_checks import Violation
from speccompile.verify.verify import Api, _Check, accepts_filled, result_findings, run_objects, verify_object
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.serialize import serialize

SERVER = """\
name: serve-a
project: vision
action: serve
profile: big
image: ghcr.io/acme/serve:1.0
args: [--port, "8080"]
labels: {team: blue, example.com/tier: web}
annotations:
  acme.example/owner: me
envs: {MODE: fast, HF_HOME: /tmp/hf}
resources:
  cpu: "2"
  mem: 4Gi
  gpu: 2
volumes:
- name: data
  volume_type: persistent_volume_claim
  mount_path: /data
  spec: {size: 10Gi}
- name: files
  volume_type: config_map
  mount_path: /etc/files
  spec:
    data:
      a.toml: |
        rate = 1
service_ports:
- port: 80
  target_port: 8080
- {port: 81, target_port: 8081}
service_name: site
"""
JOB = """\
name: train
action: job
profile: big
image: python:3.12
command: [python, -m, train]
envs:
- {name: LEVEL, value: info}
labels: {team: blue}
resources: {cpu: 2, mem: 4Gi}
node_selector: {zone: a}
volumes:
- name: scratch
  volume_type: ephemeral
  mount_path: /scratch
  spec: {size: 10Gi}
"""
PROFILE: Data = {"id": "big", "envs": {"MODEL": "m1"}, "labels": {"cost": "gpu"}, "runtime_class": "nvidia"}
SETTING = read_setting([PROFILE], None)
PAGES = pytest.mark.parametrize("text", [SERVER, JOB], ids=["server", "job"])


class Familiar:
    """A check that accepts what it saw first, and two thirds of all other values."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.is_complete = False

    def __call__(self, value: Any) -> Iterator[Violation]:
        text = repr(value)
        if not self.is_complete:
            self.known.add(text)
        elif text not in self.known and crc32(text.encode()) % 3 == 0:
            yield Violation("an unfamiliar value")


def api_of(text: str) -> Api:
    """An API that accepts the run, and not most runs that differ from it."""
    strict, familiar = Api(VERSIONS[-1]), Familiar()
    for manifest in compiled_alone(text).to_dicts():
        schema = schema_of(manifest, familiar)
        check = _Check(schema, compile_predicate(schema))
        assert check.accepts
        assert check.accepts(manifest)
        strict._checks[manifest["apiVersion"], manifest["kind"]] = check
    familiar.is_complete = True
    return strict


def schema_of(data: Any, familiar: Familiar) -> Schema:
    """A schema with a check of every scalar, and of the scalars in every mapping and list."""
    if isinstance(data, dict):
        fields = {key: schema_of(child, familiar) for key, child in data.items()}
        return {"properties": fields, "x-checks": (lambda value: familiar(scalars_in(value)), labels_check(familiar))}
    if isinstance(data, list):
        # Items of one list may have different fields.
        items = {key: child for one in data if isinstance(one, dict) for key, child in one.items()} or data[0]
        return {"items": schema_of(items, familiar), "x-value": lambda value: familiar(scalars_in(value))}
    return {"x-value": familiar}


def scalars_in(data: Any) -> list[Any]:
    return [one for one in (data.values() if isinstance(data, dict) else data) if not isinstance(one, dict | list)]


def labels_check(familiar: Familiar) -> Callable[[Any], Iterator[Violation]]:
    """A check that inspects the labels of objects only with some names."""

    def check(value: Any) -> Iterator[Violation]:
        metadata = value.get("metadata") or {}
        if not familiar.is_complete or crc32(str(metadata.get("name")).encode()) % 2:
            yield from familiar(metadata.get("labels"))

    return check


def compiled_alone(text: str) -> Compiled:
    (result,) = compile_file(parse(source(text)), SETTING)
    assert isinstance(result, Compiled)
    return result


def others_of(text: str) -> Iterator[str]:
    """The text with one of its scalars replaced, or with two of them."""
    split = split_text(text)
    assert split is not None
    for number, scalar in enumerate(split.scalars):
        for turn, other in enumerate(dict.fromkeys([*SCALARS, *split.scalars, f"{scalar}7", f"x{scalar}"])):
            changed = (*split.scalars[:number], other, *split.scalars[number + 1 :])
            yield with_scalars(split, ("other", *changed[1:]) if turn % 2 else changed)


def filled_runs(text: str) -> Iterator[Compiled]:
    """Runs that fill the page of the text: the text itself, and others."""
    shapes = KnownShapes(SETTING, lambda one: [*compile_file(parse(one), SETTING)])
    for one in (text, text, text, *others_of(text)):
        for result in shapes.compile(source(one)):
            if isinstance(result, Compiled) and result.filled:
                yield result


def findings_of(compiled: Compiled, judge: Api) -> list[Diagnostic]:
    """The findings of the ordinary path."""
    return [one for subject in run_objects(compiled) for one in result_findings(verify_object(subject, [judge]))]


@PAGES
def test_a_page_is_accepted_as_the_ordinary_path_accepts_it(text: str) -> None:
    strict, verdicts, page = api_of(text), [], None
    for compiled in filled_runs(text):
        assert compiled.filled
        page = page or compiled.filled.page
        is_accepted, is_valid = accepts_filled(compiled, strict), not findings_of(compiled, strict)
        # A page whose first run is not valid is not used.
        if compiled.filled.page is page or is_accepted:
            assert is_accepted == is_valid, compiled.to_yaml()
            verdicts.append(is_accepted)
    assert verdicts.count(True) > 50
    assert verdicts.count(False) > 50


@PAGES
def test_the_findings_of_versions_are_those_of_the_ordinary_path(text: str) -> None:
    apis = [api(version) for version in VERSIONS]
    customs = [Api(version, {("example.com/v1", "Other"): {"type": "object"}}) for version in VERSIONS]
    runs = [*filled_runs(text)]
    assert len(runs) > 100
    for compiled in runs:
        for one, custom in zip(apis, customs, strict=True):
            expected = in_order(findings_of(compiled, one))
            assert violations(compiled, one.version) == expected
            assert accepts_filled(compiled, custom) == (not expected)


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[str], AdminConfig]:
    """Texts of one structure, and what they are compiled with."""
    run, admin = draw(attempted())
    text = serialize([run])
    split = split_text(text)
    if split is None or not split.scalars:
        return [text], admin
    scalars = st.sampled_from([*SCALARS, *split.scalars, *(f"{one}7" for one in split.scalars)])
    changes = st.dictionaries(st.integers(0, len(split.scalars) - 1), scalars, min_size=1, max_size=4)
    others = [
        with_scalars(split, [change.get(number, one) for number, one in enumerate(split.scalars)])
        for change in draw(st.lists(changes, min_size=1, max_size=5))
    ]
    return [text, text, text, *others, text], admin


@given(sequences(), st.sampled_from(VERSIONS))
def test_law_a_page_has_the_findings_of_the_ordinary_path(
    sequence: tuple[list[str], AdminConfig], version: str
) -> None:
    texts, admin = sequence
    compile_source = source_compiler(admin.setting)
    for text in texts:
        for result in compile_source(source(text)):
            if isinstance(result, Compiled):
                assert violations(result, version) == in_order(findings_of(result, api(version))), text


def test_the_command_compiles_each_shape_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table lists the objects of runs and files in order."""
    compilations: list[Document] = []

    def counted(document: Document, setting: Setting) -> Compiled:
        compilations.append(document)
        return compile_document(document, setting)

    for module in ("compile_files", "shapes.known_shapes"):
        monkeypatch.setattr(f"speccompile.compiler.{module}.compile_document", counted)
    run = JOB.replace("profile: big\n", "")
    texts = {f"{number}.yaml": run.replace("train", f"train{number}") for number in range(8)}
    texts["4.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    answer = piped("", "verify", str(tmp_path))
    assert answer.code == 0
    titles = [line.split("  ")[0].removeprefix(f"{tmp_path}/") for line in answer.stdout.splitlines()[1:]]
    names = ["ConfigMap settings" if number == 4 else f"Job train{number}" for number in range(8)]
    assert titles == [f"{number}.yaml: {name}" for number, name in enumerate(names)]
    # The first run of the call, the first of the shape, and its page.
    assert len(compilations) == 3


@pytest.mark.parametrize("key", ["apiVersion", '"apiVersion"', '"\\x61piVersion"', '? "api\\\n  Version"\n'])
def test_an_object_is_not_taken_for_a_run(key: str) -> None:
    text = f"{key}: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\n"
    assert may_have_objects(text)
    assert sorted_out(parse(source(text))).objects
