"""The path of one run: no work is done twice, and nothing is loaded that it does not need."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from types import FrameType

import pytest
from helpers.paths import ROOT

from speccompile import Compiled, CompileError, compile_many, compile_run
from speccompile.compiler.pipeline import compile_document
from speccompile.files.load_admin_config import read_setting
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse

ONCE = ("choose", "target_of", "workload_in")
EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("run", sorted((EXAMPLES / "runs").glob("*.yaml")), ids=lambda path: path.stem)
def test_profile_target_and_workload_are_chosen_once(run: Path) -> None:
    setting = read_setting([EXAMPLES / "profiles"], EXAMPLES / "platform.yaml")
    (document,) = parse(Source(run.name, run.read_text(encoding="utf-8"), Layer.RUN)).documents
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name in ONCE:
            calls[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        compile_document(document, setting)
    finally:
        sys.setprofile(before)
    assert calls == dict.fromkeys(ONCE, 1)


def test_the_straight_path_loads_neither_cache_nor_workers() -> None:
    words = ["render", str(EXAMPLES / "runs" / "clean.yaml"), "--no-cache", "--quiet"]
    script = (
        "import sys\nfrom speccompile.cli.main import main\n"
        f"assert main({words!r}) == 0\nprint('loaded:', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("loaded:")[2].split())
    assert {name for name in loaded if name.startswith("speccompile.batch.")} == {
        "speccompile.batch.disk_spool",
        "speccompile.batch.executor_error",
        "speccompile.batch.straight",
    }
    assert not loaded & {"sqlite3", "concurrent.futures", "multiprocessing", "hashlib"}


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(1)], ids=["straight", "executor"])
def test_warnings_about_profiles_are_among_the_findings_of_the_first_result(executor: Executor | None) -> None:
    profile = {"id": "p", "resources": {"mem": 32}}
    run = {"action": "job", "image": "python", "profile": "p"}
    runs = [{"name": "a", **run}, {"name": "b", **run}]
    first, second = compile_many(runs, profiles=[profile], executor=executor)
    assert [finding.code for finding in first.diagnostics] == ["policy/unlikely-amount"]
    assert second.diagnostics == ()
    assert isinstance(first, Compiled)
    assert first.to_yaml().replace("name: a", "name: b") == compile_run(runs[1], profiles=[profile]).to_yaml()
    assert first.manifests[0].name == "a"
    with pytest.raises(CompileError) as caught:
        compile_run({**runs[0], "replicas": 2}, profiles=[profile])
    assert "policy/unlikely-amount" in [finding.code for finding in caught.value.diagnostics]
