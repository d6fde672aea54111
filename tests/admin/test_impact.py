"""What a change of profile does to many runs: grouped, in words, as data, and as an exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompile import CompileError, Severity, compile_run
from speccompile.admin.impact import MAX_LISTED, Impact, Outcome, RunLabel, group_outcomes, impact_data, impact_text
from speccompile.compiler.compiled import Result
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.source import Layer, Source, Span

GPU = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}
CLAIM = {"volume_type": "persistent_volume_claim", "name": "data", "mount_path": "/data"}
ERROR = Diagnostic(
    code="profile/unknown",
    message="there is no profile `x`",
    span=Span(Source("runs/a.yaml", "", Layer.RUN), 3, 10, 3, 11),
    path=("profile",),
    help="name another",
)
NOTICE = Diagnostic(code="merge/overridden", message="replaced", severity=Severity.NOTICE)


def result(name: str, fields: dict[str, Any] | None) -> Result:
    """The run under a profile with the fields; None is a run that does not compile."""
    if fields is None:
        return CompileError([ERROR, NOTICE])
    run = {"name": name, "action": "job", "image": "python:3.12"}
    return compile_run(run, profiles=[{"id": "default", **fields}])


def outcome(name: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> Outcome:
    label = RunLabel(name, "default", f"runs/{name}.yaml:1:7")
    return Outcome(label, result(name, old), result(name, new))


def impact_of(*outcomes: Outcome) -> Impact:
    return group_outcomes(outcomes)


def names(runs: Iterable[Any]) -> list[str]:
    return [getattr(run, "label", run).name for run in runs]


def test_every_run_appears_once() -> None:
    impact = impact_of(
        outcome("same", {"fs_group": 1}, {"fs_group": 1}),
        outcome("other", {"fs_group": 1}, {"fs_group": 2}),
        outcome("fixed", None, {}),
        outcome("broken", {}, None),
        outcome("never", None, None),
    )
    assert names(impact.unchanged) == ["same"]
    assert [names(group.runs) for group in impact.groups] == [["other"]]
    assert names(impact.fixed) == ["fixed"]
    assert names(impact.broken) == ["broken"]
    assert names(impact.still_broken) == ["never"]
    assert impact.broken[0].diagnostics == (NOTICE, ERROR)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], 0),
        ([({}, {})], 0),
        ([({}, {}), ({}, {"fs_group": 1})], 4),
        ([({}, {}), (None, {})], 4),
        ([({}, None)], 1),
        ([(None, None)], 1),
        ([({}, {"fs_group": 1}), ({}, None)], 1),
        ([({}, {"fs_group": 1}), (None, None), (None, {})], 1),
    ],
)
def test_the_exit_code(changes: list[tuple[Any, Any]], expected: int) -> None:
    impact = group_outcomes(outcome(f"r{number}", old, new) for number, (old, new) in enumerate(changes))
    assert impact.exit_code == impact_data(impact)["exit_code"] == expected


# Groups


def test_runs_with_the_same_changes_are_one_group() -> None:
    """Claims are named after their runs, so the names must not distinguish the changes."""
    impact = group_outcomes(outcome(name, {}, {"volumes": [CLAIM], "fs_group": 1}) for name in ("a", "b-c", "d"))
    (group,) = impact.groups
    assert names(group.runs) == ["a", "b-c", "d"]
    assert group.summary == (
        "PersistentVolumeClaim <run>-data added",
        "mount /data (name=data) added",
        "security context fsGroup set to 1",
        "volume data (persistentVolumeClaim.claimName=<run>-data) added",
    )
    assert [run.changes[0].name for run in group.runs] == ["a-data", "b-c--data", "d-data"]


def test_a_run_with_more_changes_is_another_group() -> None:
    impact = impact_of(
        outcome("a", {"tolerations": [GPU]}, {}),
        outcome("b", {"tolerations": [GPU]}, {"fs_group": 1}),
        outcome("c", {"tolerations": [GPU]}, {}),
    )
    assert [names(group.runs) for group in impact.groups] == [["a", "c"], ["b"]]


def test_large_groups_come_first_and_then_the_alphabet_decides() -> None:
    impact = impact_of(
        outcome("a", {"fs_group": 1}, {"fs_group": 3}),
        outcome("b", {"fs_group": 1}, {"fs_group": 2}),
        outcome("c", {}, {"node_selector": {"pool": "gpu"}}),
        outcome("d", {}, {"node_selector": {"pool": "gpu"}}),
    )
    assert [names(group.runs) for group in impact.groups] == [["c", "d"], ["b"], ["a"]]


def test_removals_come_first_in_a_group_and_then_additions() -> None:
    old = {"tolerations": [GPU], "envs": {"A": "1", "B": "1"}, "fs_group": 1}
    new = {"node_selector": {"pool": "gpu"}, "envs": {"A": "2"}, "fs_group": 2}
    (group,) = impact_of(outcome("a", old, new)).groups
    assert group.summary == (
        "env B=1 removed",
        "toleration nvidia.com/gpu=a100:NoSchedule removed",
        "node selector pool=gpu added",
        "env A changed from 1 to 2",
        "security context fsGroup 1 → 2",
    )


# Text


def test_the_text() -> None:
    old = {"tolerations": [GPU], "fs_group": 1}
    text = impact_text(
        impact_of(
            outcome("same", {}, {}),
            outcome("a", old, {"fs_group": 2, "node_selector": {"pool": "gpu"}}),
            outcome("b", old, {"fs_group": 2, "node_selector": {"pool": "gpu"}}),
            outcome("c", {"fs_group": 1}, {"fs_group": 2}),
            outcome("d", {"tolerations": [GPU]}, {}),
            outcome("fixed", None, {}),
            outcome("broken", {}, None),
            outcome("never", None, None),
            outcome("nor-this", None, None),
        )
    )
    assert text == (
        "1 unchanged\n"
        "\n"
        "2 runs:\n"
        "  toleration nvidia.com/gpu=a100:NoSchedule removed\n"
        "  node selector pool=gpu added\n"
        "  security context fsGroup 1 → 2\n"
        "  - default/a (runs/a.yaml:1:7)\n"
        "  - default/b (runs/b.yaml:1:7)\n"
        "\n"
        "1 run:\n"
        "  security context fsGroup 1 → 2\n"
        "  - default/c (runs/c.yaml:1:7)\n"
        "\n"
        "1 run:\n"
        "  toleration nvidia.com/gpu=a100:NoSchedule removed\n"
        "  - default/d (runs/d.yaml:1:7)\n"
        "\n"
        "1 run now compiles\n"
        "  - default/fixed (runs/fixed.yaml:1:7)\n"
        "\n"
        "1 run no longer compiles\n"
        "  - default/broken (runs/broken.yaml:1:7)\n"
        "    error[profile/unknown]: there is no profile `x` (runs/a.yaml:3:10)\n"
        "\n"
        "2 runs still do not compile\n"
        "  - default/never (runs/never.yaml:1:7)\n"
        "    error[profile/unknown]: there is no profile `x` (runs/a.yaml:3:10)\n"
        "  - default/nor-this (runs/nor-this.yaml:1:7)\n"
        "    error[profile/unknown]: there is no profile `x` (runs/a.yaml:3:10)\n"
    )


@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_long_list_of_runs_is_cut(more: int) -> None:
    outcomes = [outcome(f"r{number}", {}, {"fs_group": 1}) for number in range(MAX_LISTED + more)]
    text = impact_text(group_outcomes(outcomes))
    assert text.startswith(f"{MAX_LISTED + more} runs:\n  security context fsGroup set to 1\n  - default/r0 ")
    assert text.count("  - default/") == MAX_LISTED
    assert text.endswith(f"  - and {more} more\n" if more else "yaml:1:7)\n")


def test_no_runs_and_no_changes() -> None:
    assert impact_text(impact_of()) == "no runs\n"
    assert impact_text(impact_of(outcome("a", {}, {}), outcome("b", {}, {}))) == "2 unchanged\n"


def test_a_file_that_is_not_a_run_is_listed_by_its_name() -> None:
    broken = CompileError([Diagnostic(code="yaml/syntax", message="this is not YAML")])
    text = impact_text(impact_of(Outcome(RunLabel("", "", "runs/a.yaml"), broken, broken)))
    assert text == "1 run still does not compile\n  - runs/a.yaml\n    error[yaml/syntax]: this is not YAML\n"


def test_control_characters_are_escaped() -> None:
    hostile = RunLabel("a\x1b[2J", "p\u202e", "runs/\x07.yaml")
    text = impact_text(impact_of(Outcome(hostile, CompileError([ERROR]), result("a", {}))))
    assert "".join(text.split("\n")).isprintable()


# Data


def test_the_data() -> None:
    impact = impact_of(
        outcome("same", {}, {}),
        outcome("a", {"fs_group": 1}, {"fs_group": 2}),
        outcome("fixed", None, {}),
        outcome("broken", {}, None),
        outcome("never", None, None),
    )
    finding = {
        "severity": "error",
        "code": "profile/unknown",
        "message": "there is no profile `x`",
        "where": "runs/a.yaml:3:10",
        "path": "profile",
        "help": "name another",
    }
    notice = {
        "severity": "notice",
        "code": "merge/overridden",
        "message": "replaced",
        "where": None,
        "path": "",
        "help": None,
    }

    def label(name: str) -> dict[str, Any]:
        return {"name": name, "project": "default", "where": f"runs/{name}.yaml:1:7"}

    data = impact_data(impact)
    assert data == {
        "exit_code": 1,
        "counts": {"unchanged": 1, "changed": 1, "fixed": 1, "broken": 1, "still_broken": 1},
        "unchanged": [label("same")],
        "groups": [
            {
                "summary": ["security context fsGroup 1 → 2"],
                "runs": [
                    {
                        **label("a"),
                        "changes": [
                            {
                                "kind": "Job",
                                "name": "a",
                                "path": ["spec", "template", "spec", "securityContext", "fsGroup"],
                                "before": 1,
                                "after": 2,
                                "summary": "security context fsGroup 1 → 2",
                            }
                        ],
                    }
                ],
            }
        ],
        "fixed": [label("fixed")],
        "broken": [{**label("broken"), "diagnostics": [notice, finding]}],
        "still_broken": [{**label("never"), "diagnostics": [notice, finding]}],
    }
    assert json.loads(json.dumps(data)) == data


def test_the_data_names_every_run_of_a_long_list() -> None:
    impact = group_outcomes(outcome(f"r{number}", {}, {"fs_group": 1}) for number in range(MAX_LISTED + 3))
    assert len(impact_data(impact)["groups"][0]["runs"]) == impact_data(impact)["counts"]["changed"] == MAX_LISTED + 3


SETTINGS = st.none() | st.fixed_dictionaries(
    {}, optional={"fs_group": st.integers(1, 2), "tolerations": st.just([GPU]), "volumes": st.just([CLAIM])}
)


@given(st.lists(st.tuples(SETTINGS, SETTINGS), max_size=6), st.randoms(use_true_random=False))
def test_property_each_run_counts_once_in_any_order(changes: list[Any], random: Any) -> None:
    outcomes = [outcome(f"r{number}", old, new) for number, (old, new) in enumerate(changes)]
    impact = group_outcomes(outcomes)
    assert sum(impact_data(impact)["counts"].values()) == len(outcomes)
    random.shuffle(outcomes)
    again = group_outcomes(outcomes)
    assert [group.summary for group in again.groups] == [group.summary for group in impact.groups]
    assert [{*names(group.runs)} for group in again.groups] == [{*names(group.runs)} for group in impact.groups]


@given(st.lists(st.tuples(SETTINGS, SETTINGS), max_size=6))
def test_property_reversing_a_change_mirrors_the_counts(changes: list[Any]) -> None:
    forward = group_outcomes(outcome(f"r{number}", old, new) for number, (old, new) in enumerate(changes))
    backward = group_outcomes(outcome(f"r{number}", new, old) for number, (old, new) in enumerate(changes))
    counts = impact_data(forward)["counts"]
    assert impact_data(backward)["counts"] == {**counts, "fixed": counts["broken"], "broken": counts["fixed"]}
