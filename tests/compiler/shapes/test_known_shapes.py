"""Runs of one shape are compiled once; `tests/properties/test_shapes.py` compares the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.command_line import piped

from speccompile.compiler.compile_files import compile_file, source_compiler
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.pipeline import compile_document
from speccompile.compiler.shapes import known_shapes
from speccompile.compiler.shapes.known_shapes import KnownShapes
from speccompile.files.load_admin_config import read_setting
from speccompile.model.documents import Document
from speccompile.model.full_path import full_path
from speccompile.model.source import Layer, Source
from speccompile.testing.plain_data import Data
from speccompile.yaml_text.parse import parse

RUN = """\
name: {name}
action: job
image: ghcr.io/acme/train:{tag}
args: [--lr, "{lr}", --seed, {seed}]
envs:
  RATE: "{lr}"
resources:
  mem: {mem}
volumes:
- name: data
  volume_type: persistent_volume_claim
  mount_path: {path}
  spec: {{size: 10Gi}}
"""
VALUES = {"name": "train", "tag": "1.0", "lr": "0.1", "seed": "a", "mem": "4Gi", "path": "/data"}


def text(**values: str) -> str:
    return RUN.format(**{**VALUES, **values})


def texts(count: int) -> Iterator[str]:
    return (text(name=f"train{number}", tag=f"1.{number}", lr=f"0.{number}") for number in range(count))


def test_a_run_that_fills_a_page_has_trees_of_its_own() -> None:
    setting = _setting(None, None)
    compile_source = source_compiler(setting)
    filled = 0
    for one in texts(6):
        source = Source("run.yaml", one, Layer.RUN)
        (result,), (alone,) = compile_source(source), compile_file(parse(source), setting)
        assert isinstance(result, Compiled)
        assert isinstance(alone, Compiled)
        assert result.whole == alone.whole
        filled += result.filled is not None
    # All but the first of the call and the first of the shape.
    assert filled == 4


class Compilations:
    """The number of compilations by the ordinary path."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        for module in ("speccompile.compiler.compile_files", known_shapes.__name__):
            monkeypatch.setattr(f"{module}.compile_document", self._counted(compile_document))

    def _counted(self, usual: Callable[[Document, Setting], Compiled]) -> object:
        def counted(document: Document, setting: Setting) -> Compiled:
            self.count += 1
            return usual(document, setting)

        return counted

    def of(
        self, runs: Iterator[str] | list[str], profile: Data | list[Data] | None = None, platform: Data | None = None
    ) -> int:
        """How many of the runs are compiled by the ordinary path."""
        compile_source = source_compiler(_setting(profile, platform))
        self.count = 0
        for number, one in enumerate(runs):
            (result,) = compile_source(Source(f"{number}.yaml", one, Layer.RUN))
            assert isinstance(result, Compiled)
        return self.count


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    return Compilations(monkeypatch)


def _setting(profile: Data | list[Data] | None = None, platform: Data | None = None) -> Setting:
    return read_setting([profile] if profile else [], platform)


COUNT = 8
SHAPED = 3
"""The first run of a call, the first of a shape, and its page."""


def test_a_shape_is_compiled_once(compilations: Compilations) -> None:
    assert compilations.of(texts(COUNT)) == SHAPED


def test_other_values_are_other_shapes(compilations: Compilations) -> None:
    """Values that decide something are a part of the shape."""
    for field, values in (
        ("name", ["a", "b-c", "a" * 60, "b" * 60, "x-x0123456789"]),  # joined, shortened, hashed
        ("mem", ["1Gi", "32", "64"]),  # likely mistakes
        ("seed", ["hf_abcdefghijklmno1", "hf_abcdefghijklmno2"]),  # credentials
    ):
        assert compilations.of([*texts(5), *(text(**{field: value}) for value in values)]) > SHAPED, field


@pytest.mark.parametrize(
    ("profile", "platform"),
    [
        ({"id": "default", "rules": {"image": {"pattern": "ghcr.io/.*"}}}, None),
        (None, {"allowed_registries": ["ghcr.io/acme"]}),
        (None, {"rules": {"envs.RATE": {"pattern": "0.*"}}}),
    ],
)
def test_what_admins_read_is_a_part_of_the_shape(
    compilations: Compilations, profile: Data | None, platform: Data | None
) -> None:
    assert compilations.of(texts(COUNT), profile, platform) == COUNT


def test_what_admins_override_varies(compilations: Compilations) -> None:
    profile = {"id": "default", "image": "ghcr.io/acme/fixed:1", "envs": {"RATE": "1"}, "resources": {"mem": "8Gi"}}
    assert compilations.of(texts(COUNT), profile) == SHAPED


@pytest.mark.parametrize("profile", ['""', "null", "other"])
def test_what_varies_depends_on_the_profile(profile: str) -> None:
    """Runs without a profile, or with another one, come first."""
    rule = {"id": "big", "rules": {"image": {"pattern": "[a-z0-9:./]*"}}}
    compile_source = source_compiler(read_setting([rule, {"id": "other"}], None))
    runs = [f"profile: {name}\n{one}" for name in (profile, "big") for one in texts(COUNT)]
    *valid, wrong = [
        compile_source(Source("run.yaml", one, Layer.RUN))[0] for one in (*runs, f"profile: big\n{text(tag='A')}")
    ]
    assert all(isinstance(result, Compiled) for result in valid)
    assert [finding.code for finding in wrong.diagnostics] == ["rule/pattern"]


def test_base_documents_take_the_ordinary_path(compilations: Compilations) -> None:
    base = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"backoffLimit": 2}}
    assert compilations.of(texts(COUNT), [{"id": "default"}, base]) == COUNT


def test_the_full_path_uses_no_page(compilations: Compilations) -> None:
    with full_path(enabled=True):
        assert compilations.of(texts(COUNT)) == COUNT


def test_the_number_of_remembered_shapes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_shapes, "_MOST_SHAPES", COUNT)
    setting = _setting()
    shapes = KnownShapes(setting, lambda source: [*compile_file(parse(source), setting)])
    for number in range(4 * COUNT):
        # Another structure, and another shape of the first one.
        for one in (f"{text()}labels: {{l{number}: a}}\n", text(mem=str(number + 1))):
            shapes.compile(Source("run.yaml", one, Layer.RUN))
    assert len(shapes._structures) == len(shapes._shapes) == COUNT


def test_the_cache_knows_the_profile_of_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run from a page is compiled again when its profile changes."""
    runs = tmp_path / "runs"
    runs.mkdir()
    for number, one in enumerate(texts(COUNT)):
        (runs / f"{number}.yaml").write_text(f"profile: p\n{one}")
    profile = tmp_path / "p.yaml"
    # The cache of this test: nothing is known when it begins.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for image_policy in ("Always", "Never"):
        profile.write_text(f"id: p\nimage_pull_policy: {image_policy}\n")
        answer = piped("", "render", str(runs), "--profiles", str(profile))
        assert answer.stdout.count(f"imagePullPolicy: {image_policy}") == COUNT
