"""Any error in a file of the admin produces manifests or findings, never a traceback."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from helpers.paths import GOLDEN
from helpers.plain_data import slots
from helpers.work import at_most_calls, at_most_cpu_seconds
from hypothesis import given
from hypothesis import strategies as st

from speccompile import CompileError, compile_run

ACCEPTED = GOLDEN / "accept"


class Inputs(NamedTuple):
    """The documents of a case: its runs, the files of its profiles, and its platform."""

    runs: list[Any]
    functions: list[Any]
    profiles: list[list[Any]]
    platform: dict[str, Any]


def _documents(path: Path) -> list[Any]:
    return [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document is not None]


def _inputs(case: Path) -> Inputs:
    platform = case / "platform.yaml"
    runs = _documents(case / "run.yaml")
    # Functions and tasks have a kind that does not end in `run`.
    functions = [one for one in runs if "spec" in one and not str(one.get("kind")).lower().endswith("run")]
    return Inputs(
        [run for run in runs if run not in functions],
        [*functions, *(one for path in sorted((case / "functions").glob("*.yaml")) for one in _documents(path))],
        [_documents(path) for path in sorted((case / "profiles").glob("*.yaml"))],
        _documents(platform)[0] if platform.exists() and _documents(platform) else {},
    )


CASES = [
    case.name
    for case in sorted(ACCEPTED.iterdir())
    if (case / "run.yaml").exists() and ((case / "profiles").exists() or (case / "platform.yaml").exists())
]
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(
            None,
            True,
            0,
            -1,
            1.5,
            2**63,
            "",
            "x",
            "1e3",
            "1Gi",
            "{name}",
            "{",
            "a.b[",
            "resources.mem",
            "nvidia.com/gpu",
        ),
        *("digitalhub", "default", "main", "Job", "v1", "-x0123456789", "\u202e", "\x00", "Ä" * 300, "(a+)+", "*"),
        *(
            [],
            {},
            [1],
            ["x", "x"],
            [[]],
            [None],
            [{}],
            {"": ""},
            {"a": 1},
            {"a": None},
            {"name": "main"},
            {"kind": "Job"},
        ),
    ]
).map(copy.deepcopy)
KEYS = st.sampled_from(
    [
        *("x", "kind", "id", "name", "spec", "metadata", "containers", "resources", "min", "preset", "extends"),
        *("{id}", "requests", "gpu", "secrets", "data", "labels", "template"),
    ]
)


def _break(value: Any, data: st.DataObject) -> None:
    """Change one value: replace it with junk, remove it, or rename its key."""
    places = list(slots(value))
    if not places:
        return
    container, key = data.draw(st.sampled_from(places))
    how = data.draw(st.sampled_from(["junk", "junk", "junk", "nothing", "key"]))
    if how == "junk":
        container[key] = data.draw(JUNK)
    elif how == "nothing":
        del container[key]
    elif isinstance(container, dict):
        container[data.draw(KEYS)] = container.pop(key)
    else:
        container.append(copy.deepcopy(container[key]))


@pytest.mark.parametrize("case", CASES)
def test_hostile_files_of_the_admin_are_answered(case: str) -> None:
    """Every case unchanged: the inputs that are damaged below are valid."""
    inputs = _inputs(ACCEPTED / case)
    for run in inputs.runs:
        compile_run(run, profiles=inputs.profiles, platform=inputs.platform, functions=inputs.functions)


@given(st.data())
def test_hostile_files_of_the_admin_may_be_wrong_anywhere(data: st.DataObject) -> None:
    inputs = _inputs(ACCEPTED / data.draw(st.sampled_from(CASES)))
    for _ in range(data.draw(st.integers(1, 3))):
        _break([inputs.profiles, inputs.platform], data)
    try:
        admin: Any = {"profiles": inputs.profiles, "platform": inputs.platform}
        answer = compile_run(inputs.runs[0], **admin, functions=inputs.functions).to_yaml()
    except CompileError as error:
        answer = str(error)
    assert answer


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)(?#)+b",
        "(a|a)(?#)*b",
        "(?x)(a+) +b",
        "(?x:(a+) +)b",
        "(x)?(?(1)a+|a+)+b",
        "((a+))(?#c){2,}b",
        "(?=(a*)(?#)*b)a",
        r"\x61*" * 6 + "b",
        r"\141*" * 6 + "b",
        r"\u0061*" * 6 + "b",
    ],
)
def test_no_value_keeps_a_rule_busy(pattern: str) -> None:
    profile = {"id": "slow", "rules": {"args": {"pattern": pattern}}}
    for length in (40, 200, 20_000):
        run = {"name": "a", "action": "job", "image": "x", "profile": "slow", "args": ["a" * length + "!"]}
        with at_most_cpu_seconds(10), pytest.raises(CompileError, match="rule/pattern"):
            compile_run(run, profiles=[profile])


def test_the_work_for_many_bans_and_rules_is_bounded() -> None:
    names = [f"E{number}" for number in range(6000)]
    bans = [*(f"envs.X{name}" for name in names), "args"]
    closed = {"id": "closed", "forbid": bans, "rules": {f"envs.Y{name}": {"pattern": "x"} for name in names}}
    run = {"name": "a", "action": "job", "image": "x", "profile": "closed", "args": ["x"]}
    said = {"envs": dict.fromkeys(names, "x"), "secrets": [f"S{name}" for name in names]}
    with at_most_calls(4_000_000), pytest.raises(CompileError, match="args"):
        compile_run({**run, **said}, profiles=[closed])
