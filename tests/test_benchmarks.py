"""Takes the benchmark, checks that it compares like with like, and that its tables say what was measured."""

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

from benchmarks import contests, equality, ours, tables
from benchmarks.__main__ import main
from benchmarks.contender import ROOT, Call, Contender
from benchmarks.contests import Contest, DifferentError, Entry, Prepared
from benchmarks.figures import Cost, best_cpu, best_wall, peak, ratio
from benchmarks.peers import PEERS, helm, jinja, kustomize
from benchmarks.targets import TARGETS, Target
from benchmarks.timing import FailedError, Launcher, launcher
from benchmarks.workload import PROFILE, Workload, faulty
from speccompile import Compiled, CompileError, compile_many, compile_run

_TOOLS = {helm.RANGING: "helm", helm.ONE_BY_ONE: "helm", kustomize.IN_CHUNKS: "kubectl"}


@pytest.fixture
def starter() -> Iterator[Launcher]:
    with launcher() as made:
        yield made


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    return Prepared(tmp_path)


def _costs(*walls: float) -> list[Cost]:
    return [Cost(wall, wall * 2, wall * 10) for wall in walls]


# The workload


def test_a_workload_is_the_same_bytes_whatever_the_hash_seed() -> None:
    program = "from benchmarks.workload import Workload; print(*Workload(50).runs.values())"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, cwd=ROOT, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1
    assert len(texts.pop()) > 30_000


def test_a_small_workload_opens_a_large_one_and_another_seed_gives_another() -> None:
    small, large = Workload(5).runs, Workload(50).runs
    assert list(large.items())[:5] == list(small.items())
    assert not set(Workload(50, seed=99).runs.values()) & set(large.values())


def test_a_workload_compiles_and_a_third_of_its_runs_have_a_shape_of_their_own(tmp_path: Path) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text(PROFILE, encoding="utf-8")
    texts = [*Workload(150).runs.values()]
    shapes = Counter(_shape(text) for text in texts)
    usual, count = shapes.most_common(1)[0]
    assert usual == _shape(texts[0])  # so the cold start is that of a run like most
    assert 75 < count < 125
    assert len(shapes) > 10
    for result in compile_many(texts, profiles=[profile]):
        assert isinstance(result, Compiled)
        assert len(result.manifests) in (4, 5)
        assert "merge/overridden" in {finding.code for finding in result.diagnostics}


def _shape(text: str) -> str:
    return repr(_without_values(yaml.safe_load(text)))


def _without_values(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_values(item) for key, item in value.items()}
    return [_without_values(item) for item in value] if isinstance(value, list) else None


def test_a_faulty_run_has_two_mistakes() -> None:
    with pytest.raises(CompileError) as caught:
        compile_run(faulty(next(iter(Workload(1).runs.values())).replace("profile: 1xa100\n", "")))
    assert [finding.code for finding in caught.value.diagnostics] == ["schema/unknown-key", "schema/quantity"]


# Equal manifests


# Those of the extra `bench` are looked at where it is installed.
HERE = [contender for contender in PEERS if contender in _TOOLS or contender.version()]


@pytest.mark.parametrize("contender", HERE, ids=lambda contender: contender.name)
def test_contenders_give_the_manifests_that_ours_gives(
    contender: Contender, prepared: Prepared, starter: Launcher
) -> None:
    if contender in _TOOLS:
        program(_TOOLS[contender])
    contests.ensure_equal([contender], [3], prepared, starter, lambda _: None)


def test_a_contender_that_gives_something_else_stops_the_benchmark(prepared: Prepared, starter: Launcher) -> None:
    def prepare(workload: Workload, folder: Path) -> Call:
        call = jinja.BY_HAND.prepare(workload, folder)
        fixed = folder / "fixed.yaml"
        fixed.write_text(fixed.read_text(encoding="utf-8").replace("fs_group: 1000", "fs_group: 1001"))
        return call

    with pytest.raises(DifferentError, match=r"other manifests than ours for 2 runs") as caught:
        contests.ensure_equal([replace(jinja.BY_HAND, prepare=prepare)], [2], prepared, starter, lambda _: None)
    assert ".spec.template.spec.securityContext.fsGroup: ours 1000, theirs 1001" in str(caught.value)


def _stream(env: str, replicas: str = "1") -> equality.Manifests:
    return equality.read(f"kind: A\nmetadata: {{name: a}}\nspec: {{replicas: {replicas}, env: {env}}}\n")


def test_the_order_of_variables_counts_unless_a_contender_has_no_say_in_it() -> None:
    one, other = _stream("[{name: X, value: a}, {name: Y}]"), _stream("[{name: Y}, {name: X, value: a}]")
    assert equality.differences(one, other)
    assert equality.differences(one, other, orders_variables=False) == []
    assert equality.differences(one, _stream("[{name: Y}, {name: X, value: b}]"), orders_variables=False)


@pytest.mark.parametrize("replicas", ["2", '"1"', "true", "1.0", "[1]", "null"])
def test_values_that_only_look_alike_are_different(replicas: str) -> None:
    assert len(equality.differences(_stream("[]"), _stream("[]", replicas))) == 1


def test_a_manifest_too_few_too_many_or_twice_is_noticed() -> None:
    one = equality.read("kind: A\nmetadata: {name: a}\n")
    both = equality.read("kind: A\nmetadata: {name: a}\n---\nkind: B\nmetadata: {name: a}\n")
    assert equality.differences(both, one) == ["missing: B a"]
    assert equality.differences(one, both) == ["not asked for: B a"]
    with pytest.raises(ValueError, match="more than one A a"):
        equality.read("kind: A\nmetadata: {name: a}\n---\nkind: A\nmetadata: {name: a}\n")


# Timing


def test_a_small_program_is_small_however_large_the_benchmark(starter: Launcher, tmp_path: Path) -> None:
    ballast = bytearray(200 << 20)
    cost = starter.cost(Call((sys.executable, "-c", "print(1)"), tmp_path), tmp_path / "output")
    assert (tmp_path / "output").read_text(encoding="utf-8") == "1\n"
    assert cost.cpu > 0
    assert 0 < cost.wall < 30
    assert 4 < cost.memory < len(ballast) / 2**20 / 4


def test_a_call_that_fails_is_told_with_what_it_printed(starter: Launcher, tmp_path: Path) -> None:
    failing = Call((sys.executable, "-c", "raise SystemExit('no such thing')"), tmp_path)
    with pytest.raises(FailedError, match=r"(?s)exit code 1 .*no such thing"):
        starter.cost(failing, tmp_path / "output")
    assert starter.cost(failing, tmp_path / "output", succeeds=False)
    with pytest.raises(FailedError, match="cannot be started"):
        starter.cost(Call(("/no/such/program",), tmp_path), tmp_path / "output")


def test_a_contest_goes_round_and_scales_what_stands_for_more(
    prepared: Prepared, starter: Launcher, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    calls = {
        name: Call((sys.executable, "-c", f"open({str(log)!r}, 'a').write({name!r})"), tmp_path) for name in "abcd"
    }
    entries = {"a": Entry([calls["a"]]), "b": Entry([calls["b"], calls["c"], calls["d"]], factor=1000)}
    series = contests.held(Contest("any", entries, rounds=2), prepared, starter, lambda _: None)
    assert log.read_text(encoding="utf-8") == "abacad"  # the first round is not counted
    assert {name: len(costs) for name, costs in series.items()} == {"a": 2, "b": 2}
    assert best_wall(series["b"]) > best_wall(series["a"]) * 50


def test_an_option_that_there_is_not_yet_is_no_call() -> None:
    assert ours.has("--profiles")
    assert not ours.has("--profile")
    assert not ours.has("--no-such-option")


# Figures


def test_ratios_are_medians_of_those_of_each_round() -> None:
    series = {"one": _costs(2, 30, 9), "other": _costs(1, 10, 1)}
    assert ratio(series, "one", "other") == 3  # that of the medians would be 9
    assert ratio(series, "one", "missing") is None
    assert ratio({**series, "missing": []}, "one", "missing") is None


def test_times_are_the_best_and_memory_the_worst() -> None:
    costs = _costs(3, 1, 2)
    assert (best_wall(costs), best_cpu(costs), peak(costs)) == (1, 2, 30)
    assert costs[0].scaled(10) == Cost(30, 60, 30)


@pytest.mark.parametrize(
    ("value", "shown"), [(1234.5, "1,234"), (100, "100"), (45.67, "45.7"), (3.456, "3.46"), (0.5, "0.50")]
)
def test_numbers_show_three_digits(value: float, shown: str) -> None:
    assert tables.number(value) == shown


def test_a_batch_says_what_was_scaled_and_what_is_missing() -> None:
    measured = {
        "batch of 100": {ours.NAME: _costs(1, 2), helm.RANGING.name: _costs(4, 6), helm.ONE_BY_ONE.name: _costs(50, 60)}
    }
    contenders = (helm.RANGING, helm.ONE_BY_ONE, jinja.BY_HAND)
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in tables.batch(100, measured, contenders, is_full=False).splitlines()
    ]
    assert rows[2] == [ours.NAME, "1.00 s", "2.00 s", "20 MB", "1.00 ×", "0.29 ×", ""]
    assert rows[3] == [helm.RANGING.name, "4.00 s", "8.00 s", "60 MB", "3.50 ×", "1.00 ×", ""]
    assert rows[4][4:] == ["40.0 ×", "11.2 ×", "scaled from 20"]
    assert rows[5] == [jinja.BY_HAND.name, "not installed", "", "", "", "", ""]
    assert "scaled" not in tables.batch(100, measured, contenders, is_full=True)


def test_targets_tell_by_how_much_they_are_missed() -> None:
    most, least = Target("", lambda _: None, 2), Target("", lambda _: None, 4, is_most=False)
    assert [round(most.miss(figure), 2) for figure in (1, 2, 3)] == [-0.5, 0, 0.5]
    assert [round(least.miss(figure), 2) for figure in (5, 4, 3)] == [-0.25, 0, 0.25]


def test_the_table_of_targets_has_all_of_them_measured_or_not() -> None:
    series = {
        "cold start": {
            ours.BARE: _costs(1, 1),
            ours.IMPORT: _costs(1.4, 1.4),
            ours.HELP: _costs(4.5, 4.5),
        },
        "growth": {"1 run": _costs(1), "1,000 runs": _costs(2), "10,000 runs": _costs(20.4)},
    }
    told = {line.split("|")[1].strip(): line for line in tables.targets(series).splitlines()[2:]}
    assert len(told) == len(TARGETS)
    assert " at most 1.5 × |   1.40 × |" in told["import speccompile, to python -c pass"]
    assert " met |" in told["import speccompile, to python -c pass"]
    assert "missed by 50% |" in told["--help, to python -c pass"]
    assert "not measured |" in told["--version, to python -c pass"]
    assert "10.2 × |" in told["time for 10,000 runs, to that for 1,000"]
    assert "194 MB |" in told["peak memory of 10,000 runs, more than that of one"]


# The whole


def test_a_small_benchmark_prints_its_tables_and_leaves_the_results_alone(capsys: pytest.CaptureFixture[str]) -> None:
    results = ROOT / "benchmarks" / "RESULTS.md"
    before = results.read_bytes() if results.exists() else None
    assert main(["--only", "jinja", "--sizes", "2,3", "--rounds", "1"]) == 0
    told = capsys.readouterr()
    for title in ("Machine", "Versions", "Cold start", "A batch of 3", "Growth", "Workers", "Warm", "Targets"):
        assert f"## {title}\n" in told.out
    assert told.err == ""
    assert (results.read_bytes() if results.exists() else None) == before


@pytest.mark.parametrize(
    ("words", "is_written"),
    [([], True), (["--full"], True), (["--quick"], False), (["--rounds", "15"], False), (["--only", "helm"], False)],
)
def test_only_a_complete_benchmark_writes_the_results(
    words: list[str], is_written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "RESULTS.md"
    monkeypatch.setattr("benchmarks.__main__._RESULTS", results)
    monkeypatch.setattr("benchmarks.__main__._tables", lambda *_: iter(["## One\n", "## Two\n"]))
    assert main(words) == 0
    assert results.exists() is is_written
    if is_written:
        text = results.read_text(encoding="utf-8")
        assert text.startswith("# What speccompile costs")
        assert text.endswith("\n\n## One\n\n## Two\n")


@pytest.mark.parametrize("words", [["--sizes", "0"], ["--sizes", "1,x"], ["--rounds", "-1"], ["--only", "nonesuch"]])
def test_a_wrong_call_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert f"'{words[1].rpartition(',')[2]}'" in capsys.readouterr().err
