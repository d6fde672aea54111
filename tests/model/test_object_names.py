"""Names: what Kubernetes accepts, the same on every machine, and never one name for two things."""

from __future__ import annotations

import re
from itertools import combinations, product

import pytest
from hypothesis import assume, example, given

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.documents.targets import targets_of
from speccompile.model.object_names import LABEL, build_name, object_name
from speccompile.testing.strategies.text import dns_labels, run_names

CRON_JOB = next(filter(None, (one.max_name_length for one in targets_of(bundled_library())["kubernetes"].workloads)))
DNS_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)


def service_name(name: str) -> str:
    return build_name("{name}", {"name": name}, letter=True)


def part_name(run: str, part: str) -> str:
    return build_name("{name}-{volume}", {"name": run, "volume": part})


ALIKE = (
    "a",
    "A",
    " a",
    "a ",
    "a.",
    "-a",
    "a-",
    "á",
    "1",
    "1a",
    "s-1a",
    "a b",
    "a-b",
    "a--b",
    "a.b",
    "a_b",
    "run",
    "",
    "-",
    "é",
    "日本",
    "İ",
    "i",
    "ß",
    "ss",
    "x" * 51,
    "x" * 52,
    "x" * 53,
    "x" * 62,
    "x" * 63,
    "x" * 64,
    "x" * 253,
    "X" * 63,
    "1" * 63,
    "a-x0123456789",
    "a-x0123456789-x0123456789",
    "-x0123456789",
    "x0123456789",
)
"""Names that cleaning or shortening could take for each other."""


def with_hashed(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, and those that are made for them, which somebody may use as well."""
    made = [
        make(name) for name in names for make in (object_name, service_name, lambda name: object_name(name, CRON_JOB))
    ]
    return tuple(dict.fromkeys((*names, *made)))


NAMES = with_hashed(ALIKE)


@pytest.mark.parametrize("name", ["a", "1", "train", "a-b", "a--b", "0" * 63, "x0123456789", "a-x012345678", "a-xyz"])
def test_a_good_name_stays(name: str) -> None:
    assert object_name(name) == name


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (object_name("Train Model"), "train-model-x409c4fb10b"),
        (object_name("x" * 64), "x" * 51 + "-x3ebd6185c3"),
        (object_name("x" * 64, CRON_JOB), "x" * 40 + "-x3ebd6185c3"),
        (object_name("日本"), "run-x06ce86d23a"),
        (object_name("a-x0123456789"), "a-x0123456789-x5f6439d728"),
        (service_name("1a"), "s-1a-x22eba1d66f"),
        (part_name("a", "b"), "a-b"),
        (part_name("A", "b"), "a-b-x32449746a0"),
    ],
)
def test_names_are_the_same_everywhere(made: str, expected: str) -> None:
    """A made name is part of what is committed, and names what exists: it may never change."""
    assert made == expected


@given(run_names())
def test_names_are_valid(name: str) -> None:
    """Every made name is a DNS-1123 label of its length, and a Service's begins with a letter."""
    assert DNS_1123.fullmatch(object_name(name))
    assert len(object_name(name)) <= LABEL == 63
    assert DNS_1123.fullmatch(object_name(name, CRON_JOB))
    assert len(object_name(name, CRON_JOB)) <= CRON_JOB == 52
    assert DNS_1035.fullmatch(service_name(name))
    assert len(service_name(name)) <= 63


@given(run_names(), dns_labels(63))
@example("x" * 60, "data")
@example("x", "y" * 63)
def test_names_of_parts_are_valid(run: str, part: str) -> None:
    assert DNS_1123.fullmatch(part_name(run, part))
    assert len(part_name(run, part)) <= 63


def test_similar_names_differ() -> None:
    """No two of the names that look alike share an object, a Service or a CronJob."""
    for one, other in combinations(NAMES, 2):
        assert object_name(one) != object_name(other), (one, other)
        assert service_name(one) != service_name(other), (one, other)
        assert object_name(one, CRON_JOB) != object_name(other, CRON_JOB), (one, other)


@given(run_names(), run_names())
def test_distinct_names_differ(one: str, other: str) -> None:
    """Distinct names give distinct objects, and so does a name that was made for another."""
    assume(one != other)
    for make in (object_name, service_name, lambda name: object_name(name, CRON_JOB)):
        assert make(one) != make(other)
        assert make(one) == one or make(make(one)) != make(one)


PARTS = ("a", "b", "c", "a-b", "b-c", "a--b", "b--c", "-", "a-", "-a", "x0123456789", "y" * 63)


def test_names_of_parts_differ() -> None:
    """`a` + `b-c` and `a-b` + `c` are two claims, and so is every other pair of run and part."""
    made = {pair: part_name(*pair) for pair in product(NAMES, PARTS)}
    assert len(set(made.values())) == len(made)
    # Nor can a run, with a part of its own, be named into the name made for another pair.
    again = {pair: part_name(*pair) for pair in product(sorted(set(made.values()))[::7], ("a", "b-c"))}
    assert not set(again.values()) & set(made.values())


@given(run_names(), run_names(), dns_labels(), dns_labels())
def test_names_of_distinct_parts_differ(one: str, other: str, part: str, next_part: str) -> None:
    assume((one, part) != (other, next_part))
    assert part_name(one, part) != part_name(other, next_part)
