"""The fuzz targets run on their seeds and on mutants, most of which pass the first check."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("the limits of CPU time and memory need POSIX", allow_module_level=True)

from fuzz import check as checks
from fuzz.check import check
from fuzz.mutate import MARKER, mutate
from fuzz.targets import TARGETS, as_input, from_input, seeds_of

SEEDS, MUTANTS = 4, 3


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_and_mutants_have_no_faults_and_pass_the_first_check(target: str, tmp_path: Path) -> None:
    seeds = list(seeds_of(target).values())
    chosen = seeds[:: max(1, len(seeds) // SEEDS)][:SEEDS]
    originals = [as_input(seed, seed.text) for seed in chosen]
    mutants = [mutate(target, data, 2**16, number) for data in originals for number in range(MUTANTS)]
    assert all(from_input(target, data)[0] in seeds for data in mutants)
    assert set(mutants).isdisjoint(originals)
    verdicts = [check(target, data, tmp_path / "call") for data in (*originals, *mutants)]
    assert [verdict.faults for verdict in verdicts] == [()] * len(verdicts)
    assert sum(verdict.passed for verdict in verdicts) * 5 >= len(verdicts)


def test_mutants_depend_on_the_number_alone() -> None:
    data = as_input(*((seed := next(iter(seeds_of("run").values()))), seed.text))
    assert [mutate("run", data, 2**16, number) for number in range(20)] == [
        mutate("run", data, 2**16, number) for number in range(20)
    ]


def test_half_of_a_surrogate_pair_is_mutated_as_text() -> None:
    seed = next(iter(seeds_of("run").values()))
    assert all(mutate("run", as_input(seed, 'a: "\\ud800"\n'), 2**16, number) for number in range(20))


def broken(_: object) -> int:
    raise KeyError("x")


def writing(_: object) -> int:
    Path("left.yaml").write_text("", "utf-8")
    return 1


def printing(_: object) -> int:
    sys.stderr.write(MARKER)
    return 1


def busy(_: object) -> int:
    while True:
        pass


def internal(_: object) -> int:
    return 3


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (broken, "exception: KeyError"),
        (writing, "half-written"),
        (printing, "secret: printed"),
        (busy, "slow"),
        (internal, "internal: exit 3 at"),
    ],
)
def test_each_fault_is_found(program: object, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "main", program)
    monkeypatch.setattr(checks, "CPU_SECONDS", 0.1)
    seed = next(iter(seeds_of("profile").values()))
    verdict = check("profile", as_input(seed, f"{seed.text}\nsecrets: [{MARKER}]\n"), tmp_path / "call")
    assert [one[: len(fault)] for one in verdict.faults] == [fault]


def test_a_difference_between_the_two_paths_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "main", lambda arguments: sys.stdout.write(str(len(arguments))) and 0)
    seed = next(iter(seeds_of("run").values()))
    assert check("run", as_input(seed, seed.text), tmp_path / "call").faults == ("differs: render --plain",)
