"""What a change of profile does to many runs: grouped, in words, as data, and as an exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompile import CompileError, Severity, compile_run
from speccompile.admin.impact import MAX_NAMED, Impact, Outcome, Subject, as_data, as_text, impact
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
    subject = Subject(name, "default", f"runs/{name}.yaml:1:7")
    return Outcome(subject, result(name, old), result(name, new))


def impact_of(*outcomes: Outcome) -> Impact:
    return impact(outcomes)


def names(subjects: Iterable[Any]) -> list[str]:
    return [getattr(one, "subject", one).name for one in subjects]


def test_every_run_is_in_one_place() -> None:
    found = impact_of(
        outcome("same", {"fs_group": 1}, {"fs_group": 1}),
        outcome("other", {"fs_group": 1}, {"fs_group": 2}),
        outcome("mended", None, {}),
        outcome("broken", {}, None),
        outcome("never", None, None),
    )
    assert names(found.unchanged) == ["same"]
    assert [names(group.runs) for group in found.groups] == [["other"]]
    assert names(found.mended) == ["mended"]
    assert names(found.broken) == ["broken"]
    assert names(found.still_broken) == ["never"]
    assert found.broken[0].diagnostics == (NOTICE, ERROR)


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
    found = impact(outcome(f"r{number}", old, new) for number, (old, new) in enumerate(changes))
    assert found.exit_code == as_data(found)["exit_code"] == expected


# Groups.


def test_runs_to_which_the_same_happens_are_one_group() -> None:
    """A claim is named after its run, and still the same happens to all of them, with dashes in their names or not."""
    found = impact(outcome(name, {}, {"volumes": [CLAIM], "fs_group": 1}) for name in ("a", "b-c", "d"))
    (group,) = found.groups
    assert names(group.runs) == ["a", "b-c", "d"]
    assert group.phrases == (
        "gains mount /data (name=data)",
        "gains security context fsGroup 1",
        "gains volume data (persistentVolumeClaim.claimName=<run>-data)",
        "PersistentVolumeClaim <run>-data appears",
    )
    assert [run.changes[0].name for run in group.runs] == ["a-data", "b-c--data", "d-data"]


def test_a_run_to_which_more_happens_is_another_group() -> None:
    found = impact_of(
        outcome("a", {"tolerations": [GPU]}, {}),
        outcome("b", {"tolerations": [GPU]}, {"fs_group": 1}),
        outcome("c", {"tolerations": [GPU]}, {}),
    )
    assert [names(group.runs) for group in found.groups] == [["a", "c"], ["b"]]


def test_large_groups_come_first_and_then_the_alphabet_decides() -> None:
    found = impact_of(
        outcome("a", {"fs_group": 1}, {"fs_group": 3}),
        outcome("b", {"fs_group": 1}, {"fs_group": 2}),
        outcome("c", {}, {"node_selector": {"pool": "gpu"}}),
        outcome("d", {}, {"node_selector": {"pool": "gpu"}}),
    )
    assert [names(group.runs) for group in found.groups] == [["c", "d"], ["b"], ["a"]]


def test_losses_come_first_in_a_group_and_then_what_is_gained() -> None:
    old = {"tolerations": [GPU], "envs": {"A": "1", "B": "1"}, "fs_group": 1}
    new = {"node_selector": {"pool": "gpu"}, "envs": {"A": "2"}, "fs_group": 2}
    (group,) = impact_of(outcome("a", old, new)).groups
    assert group.phrases == (
        "loses env B=1",
        "loses toleration nvidia.com/gpu=a100:NoSchedule",
        "gains node selector pool=gpu",
        "env A changes from 1 to 2",
        "security context fsGroup 1 → 2",
    )


# Text.


def test_the_text_of_it_all() -> None:
    old = {"tolerations": [GPU], "fs_group": 1}
    text = as_text(
        impact_of(
            outcome("same", {}, {}),
            outcome("a", old, {"fs_group": 2, "node_selector": {"pool": "gpu"}}),
            outcome("b", old, {"fs_group": 2, "node_selector": {"pool": "gpu"}}),
            outcome("c", {"fs_group": 1}, {"fs_group": 2}),
            outcome("d", {"tolerations": [GPU]}, {}),
            outcome("mended", None, {}),
            outcome("broken", {}, None),
            outcome("never", None, None),
            outcome("nor-this", None, None),
        )
    )
    assert text == (
        "1 unchanged\n"
        "\n"
        "2 runs lose toleration nvidia.com/gpu=a100:NoSchedule\n"
        "  gain node selector pool=gpu\n"
        "  security context fsGroup 1 → 2\n"
        "  - default/a (runs/a.yaml:1:7)\n"
        "  - default/b (runs/b.yaml:1:7)\n"
        "\n"
        "1 run loses toleration nvidia.com/gpu=a100:NoSchedule\n"
        "  - default/d (runs/d.yaml:1:7)\n"
        "\n"
        "1 run: security context fsGroup 1 → 2\n"
        "  - default/c (runs/c.yaml:1:7)\n"
        "\n"
        "1 run now compiles, and did not before\n"
        "  - default/mended (runs/mended.yaml:1:7)\n"
        "\n"
        "1 run no longer compiles\n"
        "  - default/broken (runs/broken.yaml:1:7)\n"
        "    error[profile/unknown]: there is no profile `x` (runs/a.yaml:3:10)\n"
        "\n"
        "2 runs compile neither before nor now\n"
        "  - default/never (runs/never.yaml:1:7)\n"
        "    error[profile/unknown]: there is no profile `x` (runs/a.yaml:3:10)\n"
        "  - default/nor-this (runs/nor-this.yaml:1:7)\n"
        "    error[profile/unknown]: there is no profile `x` (runs/a.yaml:3:10)\n"
    )


@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_long_list_of_runs_is_cut(more: int) -> None:
    text = as_text(impact(outcome(f"r{number}", {}, {"fs_group": 1}) for number in range(MAX_NAMED + more)))
    assert text.startswith(f"{MAX_NAMED + more} runs gain security context fsGroup 1\n  - default/r0 ")
    assert text.count("  - default/") == MAX_NAMED
    assert text.endswith(f"  - and {more} more\n" if more else "yaml:1:7)\n")


def test_no_runs_and_no_changes() -> None:
    assert as_text(impact_of()) == "there are no runs\n"
    assert as_text(impact_of(outcome("a", {}, {}), outcome("b", {}, {}))) == "2 unchanged\n"


def test_a_file_that_is_no_run_stands_by_its_place() -> None:
    broken = CompileError([Diagnostic(code="yaml/syntax", message="this is not YAML")])
    text = as_text(impact_of(Outcome(Subject("", "", "runs/a.yaml"), broken, broken)))
    assert text == (
        "1 run compiles neither before nor now\n  - runs/a.yaml\n    error[yaml/syntax]: this is not YAML\n"
    )


def test_nothing_is_printed_that_a_terminal_would_obey() -> None:
    odd = Subject("a\x1b[2J", "p\u202e", "runs/\x07.yaml")
    text = as_text(impact_of(Outcome(odd, CompileError([ERROR]), result("a", {}))))
    assert "".join(text.split("\n")).isprintable()


# Data.


def test_the_data_of_it_all() -> None:
    found = impact_of(
        outcome("same", {}, {}),
        outcome("a", {"fs_group": 1}, {"fs_group": 2}),
        outcome("mended", None, {}),
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

    def subject(name: str) -> dict[str, Any]:
        return {"name": name, "project": "default", "where": f"runs/{name}.yaml:1:7"}

    data = as_data(found)
    assert data == {
        "exit_code": 1,
        "counts": {"unchanged": 1, "changed": 1, "mended": 1, "broken": 1, "still_broken": 1},
        "unchanged": [subject("same")],
        "groups": [
            {
                "phrases": ["security context fsGroup 1 → 2"],
                "runs": [
                    {
                        **subject("a"),
                        "changes": [
                            {
                                "kind": "Job",
                                "name": "a",
                                "path": ["spec", "template", "spec", "securityContext", "fsGroup"],
                                "before": 1,
                                "after": 2,
                                "phrase": "security context fsGroup 1 → 2",
                            }
                        ],
                    }
                ],
            }
        ],
        "mended": [subject("mended")],
        "broken": [{**subject("broken"), "diagnostics": [notice, finding]}],
        "still_broken": [{**subject("never"), "diagnostics": [notice, finding]}],
    }
    assert json.loads(json.dumps(data)) == data


def test_the_data_names_every_run_of_a_long_list() -> None:
    found = impact(outcome(f"r{number}", {}, {"fs_group": 1}) for number in range(MAX_NAMED + 3))
    assert len(as_data(found)["groups"][0]["runs"]) == as_data(found)["counts"]["changed"] == MAX_NAMED + 3


SETTINGS = st.none() | st.fixed_dictionaries(
    {}, optional={"fs_group": st.integers(1, 2), "tolerations": st.just([GPU]), "volumes": st.just([CLAIM])}
)


@given(st.lists(st.tuples(SETTINGS, SETTINGS), max_size=6), st.randoms(use_true_random=False))
def test_law_each_run_counts_once_and_the_order_of_runs_changes_no_group(changes: list[Any], random: Any) -> None:
    outcomes = [outcome(f"r{number}", old, new) for number, (old, new) in enumerate(changes)]
    found = impact(outcomes)
    assert sum(as_data(found)["counts"].values()) == len(outcomes)
    random.shuffle(outcomes)
    again = impact(outcomes)
    assert [group.phrases for group in again.groups] == [group.phrases for group in found.groups]
    assert [{*names(group.runs)} for group in again.groups] == [{*names(group.runs)} for group in found.groups]


@given(st.lists(st.tuples(SETTINGS, SETTINGS), max_size=6))
def test_law_the_way_back_mirrors_the_counts(changes: list[Any]) -> None:
    there = as_data(impact(outcome(f"r{number}", old, new) for number, (old, new) in enumerate(changes)))["counts"]
    back = as_data(impact(outcome(f"r{number}", new, old) for number, (old, new) in enumerate(changes)))["counts"]
    assert back == {**there, "mended": there["broken"], "broken": there["mended"]}
