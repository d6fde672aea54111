"""Findings with one cause are printed once, with the runs or locations where they occur again."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_line import PROFILE, Call, run_text
from hypothesis import given
from hypothesis import strategies as st

from speccompile.cli.findings import GroupedFindings
from speccompile.model.diagnostic import Diagnostic, Note, Severity
from speccompile.model.source import Layer, Source, Span
from speccompile.report.finding_groups import Group, cause_of

PROFILE_SPAN = Span(Source("small.yaml", PROFILE, Layer.PROFILE), 3, 8, 3, 11)


def finding(  # noqa: PLR0913
    number: int,
    *,
    code: str = "merge/overridden",
    severity: Severity = Severity.NOTICE,
    message: str = "",
    path: tuple[str | int, ...] = ("mem",),
    place: Span | None = PROFILE_SPAN,
) -> Diagnostic:
    source = Source(f"runs/{number:06}.yaml", "mem: 1Gi\n", Layer.RUN)
    notes = (Note("set here", place),) if place else ()
    return Diagnostic(code, message or f"value {number}", Span(source, 1, 6, 1, 9), path, severity, notes)


def printed(findings: list[Diagnostic], *, quiet: bool = False, named: bool = True) -> str:
    tally, stream = GroupedFindings({}, quiet=quiet), io.StringIO()
    for number, one in enumerate(findings, start=1):
        tally.add([one], f"train-{number}" if named else "")
    tally.print(stream)
    return stream.getvalue()


def test_the_first_is_printed_in_full_and_the_others_by_name() -> None:
    text = printed([finding(number) for number in range(1, 13)])
    assert text.count("notice[") == 1
    assert "value 1\n" in text
    assert (
        "   = and 11 more runs: train-2, train-3, train-4, train-5, train-6, train-7, train-8, train-9,\n"
        "     train-10, train-11, train-12\n\n"
    ) in text
    assert text.endswith("\n\nspeccompile: 12 notices\n")


def test_one_more_is_one_run() -> None:
    assert "   = and 1 more run: train-2\n" in printed([finding(1), finding(2)])
    assert " more" not in printed([finding(1)])


def test_names_fill_three_lines_and_the_rest_is_counted() -> None:
    text = printed([finding(number) for number in range(1, 1001)])
    lines = text.partition("   = and 999 more runs:")[2].partition("\n\n")[0].split("\n")
    assert len(lines) == 3
    named = sum(line.count("train-") for line in lines)
    assert lines[-1].endswith(f" and {999 - named} others")
    assert ", and" not in text
    assert text.endswith("speccompile: 1000 notices\n")


def test_errors_list_every_location() -> None:
    text = printed([finding(number, severity=Severity.ERROR) for number in range(1, 101)])
    assert all(f"runs/{number:06}.yaml:1:6" in text for number in range(1, 101))
    assert "   = and 99 more: runs/000002.yaml:1:6," in text


def test_what_has_no_run_lists_locations() -> None:
    assert "   = and 1 more: runs/000002.yaml:1:6\n" in printed([finding(1), finding(2)], named=False)


OTHER_SPAN = PROFILE_SPAN._replace(line=2)


@pytest.mark.parametrize(
    ("one", "two", "is_same"),
    [
        (finding(1), finding(2), True),
        (finding(1), finding(2, path=("cpu",)), False),
        (finding(1), finding(2, place=OTHER_SPAN), False),
        (finding(1), finding(2, code="merge/extended"), False),
        (finding(1), finding(2, severity=Severity.WARNING), False),
        (finding(1, place=None), finding(2, place=None), False),
        (finding(1, place=None, message="m"), finding(2, place=None, message="m"), True),
        # Overridden values under --strict: the cause is the profile's line, whatever the run has.
        (finding(1, severity=Severity.ERROR), finding(2, severity=Severity.ERROR), True),
        # Other errors quote what is wrong with this run.
        (
            finding(1, severity=Severity.ERROR, code="policy/registry"),
            finding(2, severity=Severity.ERROR, code="policy/registry"),
            False,
        ),
        (
            finding(1, severity=Severity.ERROR, code="policy/registry", message="m"),
            finding(2, severity=Severity.ERROR, code="policy/registry", message="m"),
            True,
        ),
        (
            finding(1, severity=Severity.ERROR, code="yaml/tab", message="m", path=(), place=None),
            finding(2, severity=Severity.ERROR, code="yaml/tab", message="m", path=(), place=None),
            False,
        ),
    ],
)
def test_findings_are_grouped_by_cause(one: Diagnostic, two: Diagnostic, is_same: bool) -> None:
    assert (cause_of(one) == cause_of(two)) is is_same


@given(st.permutations(range(1, 300)))
def test_the_order_of_arrival_does_not_matter(numbers: list[int]) -> None:
    group = Group(finding(numbers[0]), f"train-{numbers[0]}", 1)
    for number in numbers[1:]:
        group.add(finding(number), f"train-{number}", number)
    assert group.first == finding(1)
    assert next(group.lines()).startswith("   = and 298 more runs: train-2, train-3, train-4,")


@given(
    st.lists(
        st.builds(
            finding,
            st.integers(1, 30),
            code=st.sampled_from(["merge/overridden", "policy/registry"]),
            severity=st.sampled_from(Severity),
            message=st.sampled_from(["", "m"]),
            path=st.sampled_from([(), ("mem",), ("list", 0)]),
            place=st.sampled_from([None, PROFILE_SPAN, OTHER_SPAN]),
        ),
        max_size=60,
    ),
    st.booleans(),
)
def test_no_finding_is_lost(findings: list[Diagnostic], quiet: bool) -> None:
    """Those in full, those listed and those left out add up to the total."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("speccompile.cli.findings.MAX_SHOWN", 3)
        text = printed(findings, quiet=quiet)
    total = len({one for one in findings if not quiet or one.severity is Severity.ERROR})
    lines = text.splitlines()
    full = sum("[merge/" in line or "[policy/" in line for line in lines)
    grouped = sum(int(line.split()[2]) for line in lines if line.startswith("   = and "))
    more = sum(int(line.split()[2]) for line in lines if line.startswith("… and "))
    assert full + grouped + more == total


def test_memory_is_bounded() -> None:
    group = Group(finding(0), "train-0", 0)
    for number in range(1, 5000):
        group.add(finding(number), f"train-{number}", number)
    assert len(group._labels) <= 2 * 60
    tally = GroupedFindings({})
    for number in range(1000):
        tally.add([finding(number, place=None)])
    assert len(tally._groups) <= 401


@pytest.mark.parametrize("name", ["\x1b[31m", "a\nb", "x" * 500, "9" * 5000, "é漢"])
def test_hostile_names_are_escaped(name: str) -> None:
    group = Group(finding(1), "a", 1)
    group.add(finding(2), name, 2)
    group.add(finding(3), f"{name}2", 3)
    lines = list(group.lines())
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= 100


@pytest.fixture
def project(call: Call) -> Callable[..., tuple[int, str]]:
    Path("profiles").mkdir()
    Path("profiles/small.yaml").write_text(PROFILE)
    Path("runs").mkdir()
    for number in range(1, 6):
        text = run_text(f"train-{number}", profile="small", resources={"mem": f"{number}Gi"})
        Path(f"runs/{number}.yaml").write_text(text)

    def validate(*options: str) -> tuple[int, str]:
        answer = call("validate", "runs", "--profiles", "profiles", *options)
        return answer.code, answer.stdout + answer.stderr

    return validate


def test_the_command_groups_unless_verbose(project: Callable[..., tuple[int, str]]) -> None:
    code, text = project()
    assert (code, text.count("notice[merge/overridden]")) == (0, 1)
    assert "   = and 4 more runs: train-2, train-3, train-4, train-5\n" in text
    assert "speccompile: 5 notices\n" in text
    code, text = project("--verbose")
    assert (code, text.count("notice[merge/overridden]")) == (0, 5)
    assert " more run" not in text
    assert "speccompile: 5 notices\n" in text
    assert project("--verbose", "--quiet")[0] == 2


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_formats_for_programs_are_complete(form: str, project: Callable[..., tuple[int, str]]) -> None:
    assert project("--format", form)[1].count("merge/overridden") >= 5
    assert project("--format", form)[1] == project("--format", form, "--verbose")[1]


def test_cache_and_workers_print_the_same(call: Call, project: Callable[..., tuple[int, str]]) -> None:
    del project
    Path("runs/0.yaml").write_text(run_text("bad", profile="small", resources={"mem": "1Gi", "cpu": "x"}))
    options = ((), (), ("--no-cache",), ("--jobs", "2", "--no-cache"), ("--plain",))
    answers = [call("render", "runs", "--profiles", "profiles", *more) for more in options]
    assert answers.count(answers[0]) == len(options)
    assert answers[0].code == 1
