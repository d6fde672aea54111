"""`render --plain`: the full path through ruamel.yaml, jsonschema and Jinja, with the same bytes and findings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
import pytest
from helpers.command_line import GOOD, PROFILE, Call, run_text
from helpers.golden_cases import CASES, arguments_of
from helpers.paths import ROOT
from hypothesis import given

from speccompile import CompileError
from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.full_path import FULL_PATH, full_path
from speccompile.testing.strategies.documents import Case, cases

RENDERED = [case for case in CASES if not (case / "run.py").exists() and arguments_of(case)[0] == "render"]
SHORTCUTS = (
    "speccompile.yaml_text.parse.parse_fast",
    "speccompile.schema.validate.accept",
    "speccompile.schema.find_errors.find_errors",
    "speccompile.compiler.rendering.skeleton_cache.Shelf.find",
    "speccompile.compiler.rendering.skeleton_cache.Shelf.insert",
    "speccompile.compiler.render.load_skeletons",
    "speccompile.compiler.pipeline.manifest_text",
    "speccompile.batch.accelerate.accelerated",
)


@pytest.mark.parametrize("case", RENDERED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_golden_cases_are_the_same(case: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    assert call(*arguments_of(case), "--plain") == call(*arguments_of(case))


@pytest.mark.parametrize("shape", ["--json", "--helm"])
def test_shapes_and_files_are_the_same(shape: str, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT / "examples")

    def files(folder: Path) -> dict[Path, bytes]:
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert call("render", shape, "-o", tmp_path / "fast").code == 0
    assert call("render", shape, "-o", tmp_path / "full", "--plain").code == 0
    assert files(tmp_path / "full") == files(tmp_path / "fast") != {}


def outcome(case: Case) -> tuple[str, object]:
    try:
        compiled = case.compile()
    except CompileError as error:
        return str(error), error.diagnostics
    return compiled.to_yaml(), (compiled.diagnostics, [manifest.tree for manifest in compiled.manifests])


@given(cases())
def test_any_run_is_the_same(case: Case) -> None:
    """Text, findings and origins do not depend on the path taken."""
    with full_path():
        full = outcome(case)
    assert full == outcome(case)


def counting(counts: Counter[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any, **options: Any) -> Any:
        counts[name] += 1
        return function(*arguments, **options)

    return counted


def test_no_shortcut_is_taken_and_every_run_is_rendered_and_validated(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: Counter[str] = Counter()
    validator = type(bundled_library().validator("run"))
    assert validator.__module__.startswith("jsonschema.")
    for shortcut in SHORTCUTS:
        monkeypatch.setattr(shortcut, lambda *_, name=shortcut, **__: pytest.fail(name))
    monkeypatch.setattr(jinja2.Template, "render", counting(counts, "render", jinja2.Template.render))
    monkeypatch.setattr(validator, "iter_errors", counting(counts, "validate", validator.iter_errors))
    Path("profile.yaml").write_text(PROFILE)
    seen = []
    for number in range(1, 4):
        Path(f"{number}.yaml").write_text(run_text(str(number), profile="small"))
        counts.clear()
        names = [f"{name}.yaml" for name in range(1, number + 1)]
        assert call("render", *names, "--profiles", "profile.yaml", "--plain").code == 0
        seen.append((counts["render"], counts["validate"]))
    # Runs of one shape, of which each is rendered and validated again.
    assert seen[1][0] == 2 * seen[0][0] > 0
    assert seen[2][1] - seen[1][1] == seen[1][1] - seen[0][1] > 0
    assert not FULL_PATH.get()


def test_jinja_and_jsonschema_are_loaded_for_plain_only(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(GOOD)
    script = (
        "import sys\nfrom speccompile.cli.main import main\nmain(sys.argv[1:])\n"
        "print(*[name for name in ('jinja2', 'jsonschema') if name in sys.modules], file=sys.stderr)"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = [
        subprocess.run(
            [sys.executable, "-c", script, "render", str(tmp_path / "run.yaml"), *options],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        for options in ((), ("--plain",))
    ]
    assert [one.stderr for one in done] == ["\n", "jinja2 jsonschema\n"]
    assert done[0].stdout == done[1].stdout


@pytest.mark.parametrize("other", [("--jobs", "2"), ("--dask", "tcp://host:8786")])
def test_plain_excludes_workers(other: tuple[str, str], call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    answer = call("render", "run.yaml", "--plain", *other)
    assert answer.code == 2
    assert f"argument {other[0]}: not allowed with argument --plain" in answer.stderr
