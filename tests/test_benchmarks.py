"""Tests of the benchmark: tools produce equal manifests, and tables show the measurements."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from helpers.programs import program

from benchmarks import comparisons, equality, interpreters, speccompile_calls, tables
from benchmarks.__main__ import main
from benchmarks.comparisons import Comparison, Entry, Inputs, MismatchError
from benchmarks.figures import Cost, best_cpu, best_wall, peak, ratio
from benchmarks.peers import PEERS, helm, jinja, kustomize
from benchmarks.shapes import SMALL_PROFILE
from benchmarks.targets import TARGETS, Target
from benchmarks.timing import FailedError, Launcher, launcher
from benchmarks.tool import ROOT, Call, Tool
from benchmarks.workload import PROFILE, Kind, Workload, add_mistakes
from speccompile import Compiled, CompileError, compile_many, compile_run

_PROGRAMS = {helm.ONE_CALL: "helm", helm.CALL_PER_RUN: "helm", kustomize.KUSTOMIZE: "kubectl"}


@pytest.fixture
def starter() -> Iterator[Launcher]:
    with launcher() as process:
        yield process


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return Inputs(tmp_path)


def _costs(*walls: float) -> list[Cost]:
    return [Cost(wall, wall * 2, wall * 10) for wall in walls]


# The workload


def test_a_workload_is_the_same_bytes_whatever_the_hash_seed() -> None:
    program = (
        "from benchmarks.workload import Kind, Workload\n"
        "for kind in Kind: print(*Workload(50, kind=kind).runs.values())"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, cwd=ROOT, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1
    assert len(texts.pop()) > 100_000


@pytest.mark.parametrize("kind", Kind)
def test_a_small_workload_is_part_of_a_larger_one_and_depends_on_the_seed(kind: Kind) -> None:
    small, large = Workload(5, kind=kind).runs, Workload(50, kind=kind).runs
    assert list(large.items())[:5] == list(small.items())
    assert not set(Workload(50, seed=99, kind=kind).runs.values()) & set(large.values())


def test_a_workload_compiles_and_a_third_of_its_runs_have_extra_fields(tmp_path: Path) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text(PROFILE, encoding="utf-8")
    texts = [*Workload(150).runs.values()]
    shapes = Counter(_shape(text) for text in texts)
    usual, count = shapes.most_common(1)[0]
    assert usual == _shape(texts[0])  # so that the cold start measures a typical run
    assert 75 < count < 125
    assert len(shapes) > 10
    for result in compile_many(texts, profiles=[profile]):
        assert isinstance(result, Compiled)
        assert len(result.manifests) in (4, 5)
        assert "merge/overridden" in {finding.code for finding in result.diagnostics}


@pytest.mark.parametrize(("kind", "shapes"), [(Kind.SWEEP, 1), (Kind.ZOO, 1000), (Kind.SMALL, 1)])
def test_a_sweep_has_one_shape_and_a_zoo_as_many_as_runs(kind: Kind, shapes: int, tmp_path: Path) -> None:
    workload = Workload(1000, kind=kind)
    assert len(workload.runs) == len(set(workload.runs.values())) == 1000
    assert len({_shape(text) for text in workload.runs.values()}) == shapes
    profile = tmp_path / "profile.yaml"
    profile.write_text(SMALL_PROFILE if kind is Kind.SMALL else PROFILE, encoding="utf-8")
    for name, result in zip(workload.runs, compile_many([*workload.runs.values()], profiles=[profile]), strict=True):
        assert isinstance(result, Compiled)
        assert name in {manifest.data["metadata"]["name"] for manifest in result.manifests}


def test_small_runs_have_ten_lines() -> None:
    assert {len(text.splitlines()) for text in Workload(50, kind=Kind.SMALL).runs.values()} == {10}


def _shape(text: str) -> str:
    return repr(_without_values(yaml.load(text, Loader=yaml.CSafeLoader)))


def _without_values(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_values(item) for key, item in value.items()}
    return [_without_values(item) for item in value] if isinstance(value, list) else None


def test_mistakes_are_two_errors() -> None:
    with pytest.raises(CompileError) as caught:
        compile_run(add_mistakes(next(iter(Workload(1).runs.values())).replace("profile: 1xa100\n", "")))
    assert [finding.code for finding in caught.value.diagnostics] == ["schema/unknown-key", "schema/quantity"]


# Equal manifests


# Tools of the extra `bench` are tested if it is installed.
INSTALLED = [tool for tool in PEERS if tool in _PROGRAMS or tool.version()]


@pytest.mark.parametrize("tool", INSTALLED, ids=lambda tool: tool.name)
def test_tools_produce_the_same_manifests(tool: Tool, inputs: Inputs, starter: Launcher) -> None:
    if tool in _PROGRAMS:
        program(_PROGRAMS[tool])
    workloads = [Workload(3), Workload(2, kind=Kind.SWEEP), Workload(10, kind=Kind.ZOO)]
    comparisons.ensure_equal([tool], workloads, inputs, starter, lambda _: None)


def test_another_checkout_is_copied_and_measured(inputs: Inputs, starter: Launcher, tmp_path: Path) -> None:
    tool = speccompile_calls.before(ROOT)
    workload = Workload(2, kind=Kind.ZOO)
    comparisons.ensure_equal([tool], [workload], inputs, starter, lambda _: None)
    environment = inputs.call(tool, workload).environment
    call = Call((sys.executable, "-c", "import speccompile; print(speccompile.__file__)"), tmp_path, None, environment)
    starter.measure(call, tmp_path / "output")
    path = (tmp_path / "output").read_text(encoding="utf-8").strip()
    assert Path(path).is_relative_to(tmp_path)
    assert [*Path(path).parent.glob("__pycache__/*.pyc")]


def test_a_tool_with_other_manifests_stops_the_benchmark(inputs: Inputs, starter: Launcher) -> None:
    def prepare(workload: Workload, folder: Path) -> Call:
        call = jinja.JINJA.prepare(workload, folder)
        fixed = folder / "fixed.yaml"
        fixed.write_text(fixed.read_text(encoding="utf-8").replace("fs_group: 1000", "fs_group: 1001"))
        return call

    with pytest.raises(MismatchError, match=r"different manifests for 2 runs") as caught:
        comparisons.ensure_equal(
            [replace(jinja.JINJA, prepare=prepare)], [Workload(2)], inputs, starter, lambda _: None
        )
    assert ".spec.template.spec.securityContext.fsGroup: expected 1000, found 1001" in str(caught.value)


def _stream(env: str, replicas: str = "1") -> equality.Manifests:
    return equality.read(f"kind: A\nmetadata: {{name: a}}\nspec: {{replicas: {replicas}, env: {env}}}\n")


def test_the_order_of_variables_matters_unless_a_tool_cannot_control_it() -> None:
    one, other = _stream("[{name: X, value: a}, {name: Y}]"), _stream("[{name: Y}, {name: X, value: a}]")
    assert equality.differences(one, other)
    assert equality.differences(one, other, keeps_variable_order=False) == []
    assert equality.differences(one, _stream("[{name: Y}, {name: X, value: b}]"), keeps_variable_order=False)


@pytest.mark.parametrize("replicas", ["2", '"1"', "true", "1.0", "[1]", "null"])
def test_values_that_only_look_alike_are_different(replicas: str) -> None:
    assert len(equality.differences(_stream("[]"), _stream("[]", replicas))) == 1


def test_missing_unexpected_and_duplicate_manifests_are_reported() -> None:
    one = equality.read("kind: A\nmetadata: {name: a}\n")
    both = equality.read("kind: A\nmetadata: {name: a}\n---\nkind: B\nmetadata: {name: a}\n")
    assert equality.differences(both, one) == ["missing: B a"]
    assert equality.differences(one, both) == ["unexpected: B a"]
    with pytest.raises(ValueError, match="duplicate A a"):
        equality.read("kind: A\nmetadata: {name: a}\n---\nkind: A\nmetadata: {name: a}\n")


# Timing


def test_memory_of_a_small_program_does_not_include_that_of_the_benchmark(starter: Launcher, tmp_path: Path) -> None:
    ballast = bytearray(200 << 20)
    cost = starter.measure(Call((sys.executable, "-c", "print(1)"), tmp_path), tmp_path / "output")
    assert (tmp_path / "output").read_text(encoding="utf-8") == "1\n"
    assert cost.cpu > 0
    assert 0 < cost.wall < 30
    assert 4 < cost.memory < len(ballast) / 2**20 / 4


def test_a_call_that_fails_is_reported_with_its_output(starter: Launcher, tmp_path: Path) -> None:
    failing = Call((sys.executable, "-c", "raise SystemExit('no such thing')"), tmp_path)
    with pytest.raises(FailedError, match=r"(?s)exit code 1 .*no such thing"):
        starter.measure(failing, tmp_path / "output")
    assert starter.measure(failing, tmp_path / "output", succeeds=False)
    with pytest.raises(FailedError, match="cannot start"):
        starter.measure(Call(("/no/such/program",), tmp_path), tmp_path / "output")


def test_a_comparison_alternates_calls_and_scales_costs(inputs: Inputs, starter: Launcher, tmp_path: Path) -> None:
    log = tmp_path / "log"
    calls = {
        name: Call((sys.executable, "-c", f"open({str(log)!r}, 'a').write({name!r})"), tmp_path) for name in "abcd"
    }
    entries = {"a": Entry([calls["a"]]), "b": Entry([calls["b"], calls["c"], calls["d"]], factor=1000)}
    series = comparisons.measure(Comparison("any", entries, rounds=2), inputs, starter, lambda _: None)
    assert log.read_text(encoding="utf-8") == "abacad"  # the first round is the warm-up
    assert {name: len(costs) for name, costs in series.items()} == {"a": 2, "b": 2}
    assert best_wall(series["b"]) > best_wall(series["a"]) * 50


def test_options_are_detected() -> None:
    assert speccompile_calls.has("--profiles")
    assert not speccompile_calls.has("--profile")
    assert not speccompile_calls.has("--no-such-option")


# Figures


def test_ratios_are_medians_of_the_ratios_of_each_round() -> None:
    series = {"one": _costs(2, 30, 9), "other": _costs(1, 10, 1)}
    assert ratio(series, "one", "other") == 3  # the ratio of the medians would be 9
    assert ratio(series, "one", "missing") is None
    assert ratio({**series, "missing": []}, "one", "missing") is None


def test_times_are_the_best_and_memory_is_the_peak() -> None:
    costs = _costs(3, 1, 2)
    assert (best_wall(costs), best_cpu(costs), peak(costs)) == (1, 2, 30)
    assert costs[0].scaled(10) == Cost(30, 60, 30)


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1,234"), (100, "100"), (45.67, "45.7"), (3.456, "3.46"), (0.5, "0.50")]
)
def test_numbers_have_three_significant_digits(value: float, text: str) -> None:
    assert tables.format_number(value) == text


def test_a_batch_marks_scaled_times_and_missing_tools() -> None:
    measured = {
        comparisons.batch_name(100): {
            speccompile_calls.NAME: _costs(1, 2),
            helm.ONE_CALL.name: _costs(4, 6),
            helm.CALL_PER_RUN.name: _costs(50, 60),
        }
    }
    tools = (helm.ONE_CALL, helm.CALL_PER_RUN, jinja.JINJA)
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in tables.batch(Workload(100), measured, tools, is_full=False).splitlines()
    ]
    assert rows[2] == [speccompile_calls.NAME, "1.00 s", "2.00 s", "20 MB", "1.00 ×", "0.29 ×", ""]
    assert rows[3][:2] == [speccompile_calls.PARALLEL, "not installed"]
    assert rows[4] == [helm.ONE_CALL.name, "4.00 s", "8.00 s", "60 MB", "3.50 ×", "1.00 ×", ""]
    assert rows[5][4:] == ["40.0 ×", "11.2 ×", "scaled from 20"]
    assert rows[6] == [jinja.JINJA.name, "not installed", "", "", "", "", ""]
    assert "scaled" not in tables.batch(Workload(100), measured, tools, is_full=True)


def test_targets_compute_how_far_they_are_missed() -> None:
    upper, lower = Target("", lambda _: None, 2), Target("", lambda _: None, 4, is_maximum=False)
    assert [round(upper.miss(figure), 2) for figure in (1, 2, 3)] == [-0.5, 0, 0.5]
    assert [round(lower.miss(figure), 2) for figure in (5, 4, 3)] == [-0.25, 0, 0.25]
    stable = Target("", lambda _: None, 2, tolerance=0.1)
    assert [round(stable.miss(figure), 2) for figure in (1, 2.1, 2.3)] == [-0.5, 0, 0.15]
    assert (upper.limit, lower.limit, stable.limit) == ("at most 2 ×", "at least 4 ×", "no worse than 2 ×")


def test_the_table_of_targets_lists_all_of_them() -> None:
    series = {
        "cold start": {
            speccompile_calls.BARE: _costs(1, 1),
            speccompile_calls.IMPORT: _costs(1, 1),
            speccompile_calls.HELP: _costs(3.75, 3.75),
        },
        comparisons.batch_name(10_000): {
            helm.ONE_CALL.name: _costs(36),
            speccompile_calls.NAME: _costs(7),
            speccompile_calls.PARALLEL: _costs(6),
        },
        comparisons.batch_name(1000, Kind.SWEEP): {helm.ONE_CALL.name: _costs(6), speccompile_calls.NAME: _costs(2)},
        comparisons.batch_name(1000, Kind.ZOO): {speccompile_calls.NAME: _costs(2)},
    }
    rows = {line.split("|")[1].strip(): line for line in tables.targets(series).splitlines()[2:]}
    assert len(rows) == len(TARGETS)
    assert " no worse than 0.94 × |   1.00 × |" in rows["import speccompile vs python -c pass"]
    assert " met |" in rows["import speccompile vs python -c pass"]
    assert "missed by 50% |" in rows["speccompile --help vs python -c pass"]
    assert "not measured |" in rows["speccompile --version vs python -c pass"]
    automatic = rows["10,000 runs, automatic workers: helm template, one call vs speccompile"]
    assert " at least 5 × |   6.00 × |" in automatic
    sweep = rows["1,000 runs of one shape, one process: helm template, one call vs speccompile"]
    assert "missed by 25% |" in sweep
    zoo = rows["1,000 runs of different shapes, one process: speccompile vs speccompile before"]
    assert "not measured |" in zoo
    assert "missed by 46% |" in rows["peak memory, 10,000 runs"]


# The whole


def test_a_small_benchmark_prints_its_tables_and_does_not_write_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    results = ROOT / "benchmarks" / "RESULTS.md"
    before = results.read_bytes() if results.exists() else None
    assert main(["--only", "jinja", "--sizes", "2,3", "--rounds", "1"]) == 0
    captured = capsys.readouterr()
    for title in ("Machine", "Versions", interpreters.describe()):
        assert f"\n## {title}\n" in f"\n{captured.out}"
    batches = ("A batch of 3 runs", "A batch of 3 runs of one shape", "A batch of 3 runs of different shapes")
    for title in ("Cold start", *batches, "Growth", "Workers", "Warm", "Targets"):
        assert f"\n### {title}\n" in captured.out
    assert captured.err == ""
    assert (results.read_bytes() if results.exists() else None) == before


@pytest.mark.parametrize(
    ("words", "is_written"),
    [
        ([], True),
        (["--full"], True),
        (["--before", str(ROOT)], True),
        (["--quick"], False),
        (["--rounds", "15"], False),
        (["--only", "helm"], False),
    ],
)
def test_only_a_complete_benchmark_writes_the_results(
    words: list[str], is_written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "RESULTS.md"
    monkeypatch.setattr("benchmarks.__main__._RESULTS", results)
    monkeypatch.setattr("benchmarks.__main__._sections", lambda *_: iter(["## One\n", "## Two\n"]))
    assert main(words) == 0
    assert results.exists() is is_written
    if is_written:
        text = results.read_text(encoding="utf-8")
        assert text.startswith("# Benchmarks: speccompile and other tools")
        assert text.endswith("\n\n## One\n\n## Two\n")


@pytest.mark.parametrize(
    "words", [["--sizes", "0"], ["--sizes", "1,x"], ["--rounds", "-1"], ["--only", "nonesuch"], ["--before", "x"]]
)
def test_a_wrong_call_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert f"'{words[1].rpartition(',')[2]}'" in capsys.readouterr().err


# Another interpreter


def test_another_interpreter_has_the_same_packages(tmp_path: Path) -> None:
    folder = tmp_path / "environment"
    python = interpreters.create_environment(Path(sys.executable), folder)
    program = "import sys, speccompile, yaml; print(sys.prefix)"
    command = [str(python), "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == str(folder)
    assert subprocess.run([folder / "bin" / "speccompile", "--version"], capture_output=True, check=True).stdout


def test_an_interpreter_that_cannot_be_used_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert interpreters.is_running(Path(sys.executable))
    with pytest.raises(interpreters.UnavailableError, match="not present"):
        interpreters.is_running(tmp_path / "python")
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\nprintf 'cpython-27\\n/other\\n'\n", encoding="utf-8")
    other.chmod(0o700)
    with pytest.raises(interpreters.UnavailableError, match="cannot import the installed packages"):
        interpreters.create_environment(other, tmp_path / "environment")
    monkeypatch.setattr("benchmarks.__main__._measurements", lambda *_: iter(["## Python\n"]))
    assert main(["--quick", "--python", str(tmp_path / "python")]) == 0
    assert "\n## Another Python\n\nNot measured: " in capsys.readouterr().out
