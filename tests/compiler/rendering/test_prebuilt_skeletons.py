"""Skeletons made ahead: they are fresh, they serve without Jinja, and never for other templates."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.paths import GOLDEN, ROOT

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.documents.admin_config import prepare
from speccompile.compiler.rendering.prebuilt_skeletons import (
    _used_by,
    dump_skeletons,
    load_skeletons,
    prebuilt_of,
    read_skeletons,
)
from speccompile.compiler.rendering.skeleton_cache import shelf_of
from speccompile.compiler.rendering.skeleton_from_template import skeleton
from speccompile.model.source import Layer, Source
from speccompile.schema.library import Library
from speccompile.yaml_text.parse import parse

PREPARED = ROOT / "speccompile" / "compiler" / "rendering" / "prebuilt_skeletons.json"
# Runs of functions need these.
ACCEPTED = [
    case
    for case in sorted((GOLDEN / "accept").iterdir())
    if (case / "run.yaml").exists() and not (case / "functions").exists()
][::5]
RUN = """\
name: train
action: job
image: python:3.12
envs: {A: a, B: b, C: c}
secrets: [TOKEN]
volumes:
- {volume_type: persistent_volume_claim, name: data, mount_path: /data, spec: {size: 1Gi}}
- {volume_type: empty_dir, name: tmp, mount_path: /tmp}
resources: {mem: 1Gi, cpu: 2}
"""
HEAVY = (
    *("jinja2", "jsonschema", "referencing", "inspect", "dataclasses", "decimal", "fractions", "difflib", "tempfile"),
    *("locale", "speccompile.schema.formats.pattern_automaton", "speccompile.schema.find_errors"),
)


def unprepared(prepared: str = "") -> Library:
    known = bundled_library()
    return known.but(known.templates, prepared)


def compiled(text: str, library: Library) -> Compiled:
    [result] = compile_files([parse(Source("run.yaml", text, Layer.RUN))], prepare((), None, library))
    assert isinstance(result, Compiled)
    return result


def test_what_is_prepared_is_what_the_templates_make_of_the_golden_runs() -> None:
    """If this fails, a template has changed: run `make prepared`."""
    made = runpy.run_path(str(ROOT / "scripts" / "prepare.py"))["build_skeletons"]()
    assert made == PREPARED.read_text(encoding="utf-8")


def test_prepared_skeletons_give_what_jinja_gives() -> None:
    library = unprepared(PREPARED.read_text(encoding="utf-8"))
    ahead, anew = compiled(RUN, library), compiled(RUN, unprepared())
    assert ahead.to_yaml() == anew.to_yaml()
    # Trees, and with them origins.
    assert [one.tree for one in ahead.manifests] == [one.tree for one in anew.manifests]


def test_prepared_skeletons_serve_without_jinja(monkeypatch: pytest.MonkeyPatch) -> None:
    library = unprepared(PREPARED.read_text(encoding="utf-8"))
    monkeypatch.setattr(
        "speccompile.compiler.rendering.skeleton_from_template.skeleton",
        lambda *_: pytest.fail("a template was rendered"),
    )
    assert compiled(RUN, library).to_yaml()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "no json",
        '{"templates": 1, "uses": {}, "skeletons": {}}',
        '{"templates": {}}',
        '{"templates": {}, "uses": {"a": 1}, "skeletons": {"a": ""}}',
    ],
)
def test_what_cannot_be_read_prepares_nothing(text: str) -> None:
    library = unprepared(text)
    assert not prebuilt_of(library).skeletons
    assert compiled(RUN, library).to_yaml() == compiled(RUN, bundled_library()).to_yaml()


def test_skeletons_of_other_templates_are_not_used() -> None:
    known = bundled_library()
    changed = {**known.templates, "kubernetes/_env.j2": "name: {{ item.name }}-x\nvalue: {{ item.value }}\n"}
    library = known.but(changed, PREPARED.read_text(encoding="utf-8"))
    prebuilt = prebuilt_of(library)
    assert not prebuilt.of("kubernetes/_env.j2", library)
    assert not prebuilt.of("kubernetes/job.yaml.j2", library)
    assert not prebuilt.of("digitalhub-container/job.yaml.j2", library)
    assert prebuilt.of("kubernetes/service.yaml.j2", library)
    assert "name: A-x" in compiled(RUN, library).to_yaml()


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
def test_a_skeleton_depends_on_the_templates_that_its_template_names(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[tuple[str, Any]] = []

    def render_and_record(template: str, context: Any, library: Library) -> Any:
        rendered.append((template, context))
        return skeleton(template, context, library)

    monkeypatch.setattr("speccompile.compiler.rendering.skeleton_from_template.skeleton", render_and_record)
    build_skeletons = runpy.run_path(str(ROOT / "scripts" / "prepare.py"))
    build_skeletons["_compile"](case, unprepared())
    prebuilt = read_skeletons(PREPARED.read_text(encoding="utf-8"))
    assert rendered
    known = bundled_library()
    for template, context in rendered:
        used = {*_used_by(template, prebuilt.texts)}
        templates = {
            name: "{{" if name.endswith(".j2") and name not in used else text for name, text in known.templates.items()
        }
        assert skeleton(template, context, known.but(templates)).tree == skeleton(template, context, known).tree


class Recorded(dict[str, str]):
    """Templates that record which of them are read."""

    def __init__(self, templates: Mapping[str, str]) -> None:
        super().__init__(templates)
        self.read: list[str] = []

    def get(self, name: str, default: Any = None) -> Any:
        self.read.append(name)
        return super().get(name, default)


def test_only_templates_that_a_skeleton_is_built_from_are_read() -> None:
    templates = Recorded(bundled_library().templates)
    library = Library(bundled_library().schemas, templates)
    prebuilt = read_skeletons(PREPARED.read_text(encoding="utf-8"))
    assert prebuilt.of("kubernetes/service.yaml.j2", library)
    assert sorted(templates.read) == [
        "kubernetes/_service.j2",
        "kubernetes/_service_port.j2",
        "kubernetes/service.yaml.j2",
    ]


def test_further_templates_do_no_harm() -> None:
    known = bundled_library()
    library = known.but({**known.templates, "own/a.j2": "a: 1\n"}, PREPARED.read_text(encoding="utf-8"))
    assert prebuilt_of(library).of("kubernetes/job.yaml.j2", library)


def test_skeletons_survive_being_written() -> None:
    """Every kind of question, and of what a token stands for."""
    template = (
        "a: {{ spec.image }}\nb: {{ spec.args | length }}\nc:\n- {{ spec.envs | each('test/env.j2') }}\n"
        "{% for key in spec.labels %}\nx-{{ loop.index }}: 1\n{% endfor %}\n"
        "{% if spec.replicas > 1 and 'a' in spec.args %}\nd: {{ spec.image ~ 'x' }}\n{% endif %}\n"
    )
    known = bundled_library()
    library = known.but({"test/main.j2": template, "test/env.j2": "name: {{ item.name }}\n"})
    spec = (
        parse(Source("s.yaml", "image: i\nreplicas: 2\nargs: [a]\nlabels: {k: v}\nenvs: [{name: n}]\n", Layer.RUN))
        .documents[0]
        .root
    )
    made = skeleton("test/main.j2", {"spec": spec, "item": None}, library)
    text = dump_skeletons([("test/main.j2", made)], library)
    [again] = load_skeletons(read_skeletons(text).of("test/main.j2", library), library)
    assert again.tree == made.tree
    assert again.placed == made.placed
    assert again.questions == made.questions
    assert dump_skeletons([("test/main.j2", again)], library) == text


def test_most_runs_have_their_skeletons_prepared() -> None:
    """Those of the golden runs that hang on no single value do, by the way they are made; here are how many."""
    known = json.loads(PREPARED.read_text(encoding="utf-8"))["skeletons"]
    assert set(known) >= {f"kubernetes/{name}.yaml.j2" for name in ("job", "cronjob", "deployment", "service")}
    assert len(shelf_of(unprepared())) == 0


def test_a_good_run_costs_no_heavy_import(tmp_path: Path) -> None:
    """What the cold start of `render` hangs on."""
    (tmp_path / "run.yaml").write_text(RUN)
    script = (
        "import sys\nfrom speccompile.cli.main import main\n"
        "code = main(['render', 'run.yaml', '--no-cache'])\n"
        f"sys.stderr.write(','.join(name for name in {HEAVY!r} if name in sys.modules))\nsys.exit(code)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
