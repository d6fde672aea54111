"""Findings as text: the caret under the right words, nothing a terminal would obey, and never a secret."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from speccompile import CompileError, Diagnostic, Function, Severity, compile_run
from speccompile.model.diagnostic import Note
from speccompile.model.finding_text import findings_as_text, summary
from speccompile.model.findings import in_order
from speccompile.model.redaction import HIDDEN
from speccompile.model.source import Layer, Source, Span
from speccompile.terminal.display_width import columns, printable
from speccompile.terminal.style import coloured

RUN = "name: train\naction: job\nimage: python:3.12\n"
FIELDS: Mapping[str, Any] = {"name": "train", "action": "job", "image": "python:3.12"}


def source_of(text: str, name: str = "run.yaml") -> Source:
    return Source(name, text, Layer.RUN)


def span_of(source: Source, line: int, column: int, length: int = 1) -> Span:
    return Span(source, line, column, line, column + length)


def finding_at(span: Span | None, **more: Any) -> Diagnostic:
    return Diagnostic(**{"code": "schema/quantity", "message": "it is wrong", "span": span, **more})


def excerpt(span: Span) -> tuple[str, str]:
    """The line of source and the line of carets, without the gutter."""
    _, _, bar, line, carets, *_ = findings_as_text([finding_at(span)]).split("\n")
    gutter = bar.index("|")
    assert line[gutter] == carets[gutter] == "|"
    return line[gutter + 2 :], carets[gutter + 2 :]


def laid_out(text: str) -> list[str]:
    """What stands in each column of a terminal; the right half of a wide character is empty but for its marks."""
    cells: list[str] = []
    for char in text:
        if not is_mark(char):
            cells += [char, ""] if unicodedata.east_asian_width(char) in "WF" else [char]
        elif cells:
            cells[-1] += char
    return cells


def is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me") or 0x1160 <= ord(char) <= 0x11FF


def underlined(span: Span) -> str:
    line, carets = excerpt(span)
    start = carets.index("^")
    assert carets == " " * start + "^" * (len(carets) - start)
    return "".join(laid_out(line)[start : len(carets)])


def faults_of(run: Any, **setting: Any) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compile_run(run, **setting)
    return caught.value


# The whole of it.


def test_a_finding_has_place_excerpt_notes_and_help() -> None:
    run, profile = source_of("a: 1\nmem: 8GB\n"), source_of("id: x\nmem: 4Gi\n", "profiles/x.yaml")
    finding = finding_at(
        span_of(run, 2, 6, 3),
        notes=(
            Note("set here", span_of(profile, 2, 6, 3)),
            Note("by the way"),
            Note("made", Span(source_of("", "it"))),
        ),
        help="write `8Gi`",
    )
    assert findings_as_text([finding, finding._replace(severity=Severity.WARNING, notes=(), help=None)]) == (
        "error[schema/quantity]: it is wrong\n"
        "  --> run.yaml:2:6\n"
        "    |\n"
        "  2 | mem: 8GB\n"
        "    |      ^^^\n"
        "   = note: set here\n"
        "  ::: profiles/x.yaml:2:6\n"
        "    |\n"
        "  2 | mem: 4Gi\n"
        "    |      ^^^\n"
        "   = note: by the way\n"
        "   = note: made: it\n"
        "   = help: write `8Gi`\n"
        "\n"
        "warning[schema/quantity]: it is wrong\n"
        "  --> run.yaml:2:6\n"
        "    |\n"
        "  2 | mem: 8GB\n"
        "    |      ^^^\n"
        "\n"
    )


def test_no_finding_is_no_text() -> None:
    assert findings_as_text([]) == ""


def test_a_compile_error_prints_as_its_findings() -> None:
    error = faults_of(f"{RUN}resources: {{mem: 8GB}}\n")
    assert str(error) + "\n\n" == findings_as_text(error.diagnostics)


def test_large_line_numbers_keep_the_bars_in_line() -> None:
    source = source_of("\n" * 99_999 + "abc\n")
    lines = findings_as_text([finding_at(span_of(source, 100_000, 2))]).splitlines()
    assert lines[2:] == ["       |", "100000 | abc", "       |  ^", ""]


def test_the_summary_counts_by_severity() -> None:
    error, warning, notice = (finding_at(None, severity=severity) for severity in Severity)
    assert summary([]) == ""
    assert summary([error]) == "1 error"
    assert summary([notice, error, error]) == "2 errors, 1 notice"
    assert summary([notice, warning, warning, error]) == "1 error, 2 warnings, 1 notice"


def test_findings_stand_in_source_order_each_once() -> None:
    first, second = source_of("a: 1\nb: 2\n", "a.yaml"), source_of("c: 3\n", "b.yaml")
    expected = [
        finding_at(None),
        finding_at(span_of(first, 1, 1)),
        finding_at(span_of(first, 1, 4)),
        finding_at(span_of(first, 2, 1), code="schema/image"),
        finding_at(span_of(first, 2, 1)),
        finding_at(span_of(second, 1, 1)),
    ]
    shuffled = expected * 2
    for seed in range(20):
        random.Random(seed).shuffle(shuffled)  # noqa: S311  any order will do
        assert list(in_order(shuffled)) == expected


# The caret.


@pytest.mark.parametrize(
    ("text", "line", "column", "length", "expected"),
    [
        ("mem: 8GB", 1, 6, 3, "8GB"),
        ("mem: 8GB", 1, 1, 3, "mem"),
        ("mem: 8GB", 1, 1, 8, "mem: 8GB"),
        ("mem: 8GB   \nx", 1, 6, 6, "8GB"),
        ("a\nb\n  mem: 8GB\nc", 3, 8, 3, "8GB"),
        ("é漢: 8GB", 1, 5, 3, "8GB"),
        ("a: 😀 b", 1, 6, 1, "b"),
        ("a: 😀 b", 1, 4, 1, "😀"),
        ("漢字: ＡＢ", 1, 5, 2, "ＡＢ"),
        ("漢字: ＡＢ", 1, 6, 1, "Ｂ"),
        ("e\u0301: 8GB", 1, 5, 3, "8GB"),
        ("a: e\u0301\u0323x", 1, 4, 3, "e\u0301\u0323"),
        ("a: e\u0301x", 1, 5, 1, "e\u0301"),
        ("a: か\u3099x", 1, 6, 1, "x"),
        ("\u1112\u1161\u11ab: 8GB", 1, 6, 3, "8GB"),
        ("a: \u3000 b", 1, 6, 1, "b"),
    ],
)
def test_the_caret_stands_under_the_words(text: str, line: int, column: int, length: int, expected: str) -> None:
    assert underlined(span_of(source_of(text), line, column, length)) == expected


def test_wide_characters_have_two_carets_and_marks_have_none() -> None:
    assert excerpt(span_of(source_of("é漢: 8GB"), 1, 5, 3)) == ("é漢: 8GB", "     ^^^")
    assert excerpt(span_of(source_of("a: 😀 b"), 1, 4, 1)) == ("a: 😀 b", "   ^^")
    assert excerpt(span_of(source_of("e\u0301e\u0301: x"), 1, 1, 4)) == ("e\u0301e\u0301: x", "^^")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("漢字", 4),
        ("😀", 2),
        ("e\u0301", 1),
        ("\t", 1),
        ("\x1b", 1),
        ("\u200b", 1),
        ("\u3000", 1),
    ],
)
def test_columns_are_those_of_a_terminal(text: str, expected: int) -> None:
    assert columns(text) == columns(printable(text)) == expected


def test_a_span_of_several_lines_is_underlined_to_the_end_of_the_first() -> None:
    assert underlined(Span(source_of("a:\n  - b: 1  \n    c: 2\n"), 2, 5, 3, 9)) == "b: 1"


@pytest.mark.parametrize(
    ("text", "line", "column", "shown"),
    [
        ("", 1, 1, ("", "^")),
        ("a\n", 2, 1, ("", "^")),
        ("abc", 1, 4, ("abc", "   ^")),
        ("a漢", 1, 5, ("a漢", "     ^")),
        ("a", 9, 1, ("", "^")),
    ],
)
def test_a_place_behind_the_text_has_a_caret_too(text: str, line: int, column: int, shown: tuple[str, str]) -> None:
    assert excerpt(span_of(source_of(text), line, column)) == shown


def test_tabs_are_one_column_wide() -> None:
    """In a file, a tab is one character; shown as more, it would push everything off the carets."""
    source = source_of("\tmem:\t8GB\t# why")
    assert excerpt(span_of(source, 1, 7, 3)) == (" mem: 8GB # why", "      ^^^")
    assert underlined(span_of(source, 1, 1)) == " "


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_is_one(end: str) -> None:
    text = f"{RUN}resources:\n  mem: 8GB\n".replace("\n", end)
    (finding,) = faults_of(text).diagnostics
    assert finding.span
    assert (finding.span.line, finding.span.column) == (5, 8)
    assert excerpt(finding.span) == ("  mem: 8GB", "       ^^^")
    assert "\r" not in findings_as_text([finding])


def test_line_ends_of_several_kinds_in_one_file() -> None:
    text = f"{RUN}# a\r\n# b\r# c\n\r\nresources: {{mem: 8GB}}\r\n"
    (finding,) = faults_of(text).diagnostics
    assert finding.span
    assert finding.span.line == 8
    assert underlined(finding.span) == "8GB"


WIDEST = 122
"""The columns of an excerpt: 120 of the line, and a dot where it goes on."""


@pytest.mark.parametrize("before", [0, 1, 59, 60, 61, 119, 120, 121, 500, 10_000])
@pytest.mark.parametrize("after", [0, 1, 60, 120, 10_000])
def test_a_long_line_is_cut_around_the_caret(before: int, after: int) -> None:
    source = source_of("b" * before + "8GB" + "a" * after)
    line, _ = excerpt(span_of(source, 1, before + 1, 3))
    assert underlined(span_of(source, 1, before + 1, 3)) == "8GB"
    assert len(line) <= WIDEST
    whole = before + 3 + after <= 120
    assert line.startswith("…") == (not whole and before > 60)
    assert not whole or line == source.text
    assert line.count("b") >= min(before, 59)
    assert line.count("a") >= min(after, 56)


def test_a_long_span_is_cut_too() -> None:
    line, carets = excerpt(span_of(source_of("a: " + "x" * 10_000), 1, 4, 10_000))
    assert line == "a: " + "x" * 117 + "…"
    assert carets == "   " + "^" * 117


@pytest.mark.parametrize("before", [0, 29, 30, 31, 59, 60, 61, 5_000])
def test_a_long_line_of_wide_characters_is_cut_between_them(before: int) -> None:
    source = source_of("前" * before + "8GB" + "後" * 5_000)
    line, _ = excerpt(span_of(source, 1, before + 1, 3))
    assert underlined(span_of(source, 1, before + 1, 3)) == "8GB"
    assert WIDEST - 3 <= len(laid_out(line)) <= WIDEST
    assert line.count("前") == min(before, 30)


def test_a_line_is_not_cut_between_a_letter_and_its_marks() -> None:
    source = source_of("e\u0301\u0323" * 500 + "8GB" + "o\u0308\u0332" * 500)
    line, _ = excerpt(span_of(source, 1, 1_501, 3))
    assert line == "…" + "e\u0301\u0323" * 60 + "8GB" + "o\u0308\u0332" * 57 + "…"


def test_marks_without_end_do_not_make_a_line_without_end() -> None:
    line, carets = excerpt(span_of(source_of("a: e" + "\u0301" * 100_000 + "b"), 1, 4, 100_001))
    assert len(line) < 4 * WIDEST
    assert carets == "   ^"


LINES = st.text(st.characters(codec=None, exclude_categories=(), exclude_characters="\r\n"), max_size=300)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(0, 300), st.integers(1, 300))
@example("x", "a\tb", "\n", 2, 1)
@example("x", "\u202e\x1b[2Jb", "\n", 5, 1)
@example("", " " * 300, "\n", 299, 1)
def test_law_whatever_the_line_the_carets_show_the_place(
    before: str, line: str, end: str, start: int, length: int
) -> None:
    start = min(start, len(line))
    length = min(length, max(1, len(line) - start))
    source = source_of(f"{before}{end}{line}{end}after")
    shown, carets = excerpt(span_of(source, 2, start + 1, length))
    cells = laid_out(shown)
    assert len(cells) <= WIDEST
    assert len(carets) <= max(len(cells), len(carets.rstrip("^")) + 1)
    under = without_marks("".join(cells[carets.index("^") : len(carets)]))
    clean = "".join(char if char.isprintable() else " " if char == "\t" else "\ufffd" for char in line)
    while 0 < start < len(line) and is_mark(line[start]):
        start, length = start - 1, length + 1
    assert without_marks(clean[start:]).startswith(under)
    if start + length <= len(line.rstrip()):
        assert carets.count("^") == max(1, len(laid_out(clean[start : start + length]))) or carets.count("^") >= 58


def without_marks(text: str) -> str:
    return "".join(char for char in text if not is_mark(char))


# On a terminal that shows colours.


def test_each_part_is_painted_as_what_it_is() -> None:
    run, profile = source_of("a: 1\nmem: 8GB\n"), source_of("id: x\nmem: 4Gi\n", "x.yaml")
    finding = finding_at(
        span_of(run, 2, 6, 3),
        severity=Severity.WARNING,
        notes=(Note("set here", span_of(profile, 2, 6, 3)), Note("by the way")),
        help="write `8Gi`",
    )
    assert findings_as_text([finding], lambda text, kind: f"<{kind}>{text}</>") == (
        "<warning>warning[schema/quantity]</>: <title>it is wrong</>\n"
        "  <quiet>--></> run.yaml:2:6\n"
        "<quiet>    |</>\n"
        "<quiet>  2 |</> mem: 8GB\n"
        "<quiet>    |</>      <warning>^^^</>\n"
        "   <quiet>=</> note: set here\n"
        "  <quiet>:::</> x.yaml:2:6\n"
        "<quiet>    |</>\n"
        "<quiet>  2 |</> mem: 4Gi\n"
        "<quiet>    |</>      <quiet>^^^</>\n"
        "   <quiet>=</> note: by the way\n"
        "   <quiet>=</> help: write `8Gi`\n"
        "\n"
    )


@pytest.mark.parametrize("severity", Severity)
def test_colours_are_all_that_paint_adds(severity: Severity) -> None:
    finding = finding_at(span_of(source_of("a: 漢"), 1, 4), severity=severity)
    text = findings_as_text([finding], coloured)
    assert "\x1b[" in text
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == findings_as_text([finding])


# Nothing a terminal would obey.


def assert_clean(text: str) -> None:
    assert [char for char in text if not char.isprintable() and char != "\n"] == []


EVIL = (
    "\x1b[31m",
    "\x00",
    "\x07",
    "\x7f",
    "\x9b",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u2028",
    "\ufeff",
    "\ud800",
    "\ue000",
)


@pytest.mark.parametrize("evil", EVIL, ids=ascii)
def test_characters_that_a_terminal_obeys_are_never_printed(evil: str) -> None:
    source = source_of(f"a: {evil}b{evil}\n", f"dir{evil}/run.yaml")
    finding = finding_at(span_of(source, 1, 4, 3), notes=(Note("here", span_of(source, 1, 1)), Note("x", Span(source))))
    assert_clean(findings_as_text([finding]))
    never_text = finding_at(Span(source), path=("labels", f"k{evil}", 3))
    assert_clean(findings_as_text([never_text]))


@pytest.mark.parametrize("evil", EVIL, ids=ascii)
def test_no_words_of_a_finding_reach_a_terminal_unescaped(evil: str) -> None:
    words = f'`labels["{evil}"]` is required'
    finding = finding_at(None, message=words, help=words, notes=(Note(words), Note(words, Span(source_of("a\n")))))
    assert_clean(findings_as_text([finding]))


@pytest.mark.parametrize("evil", ["\u202e", "\u2066", "\u200b", "\U000e0001"], ids=ascii)
@pytest.mark.parametrize(
    "line",
    [
        "labels: {{'{0}': a}}",
        "labels: {{a: '{0}'}}",
        "envs: {{'{0}': a}}",
        "image_pull_policy: '{0}'",
        "{0}: a",
        "resources: {{mem: '8{0}'}}",
        "resources: {{requests: {{'{0}': 1}}}}",
        "profile: '{0}'",
        "schedule: '{0} * * * *'",
        "volumes: [{{volume_type: empty_dir, name: '{0}', mount_path: '{0}'}}]",
        "parameters: {{a: b, a: '{0}'}}",
        "parameters: !{0} x",
        "args: [!!python/{0} x]",
        "command: '{0} x {0}'\nfoo: 1",
        "args: [{0}",
        "args: '{0}",
        "kind: '{0}'",
        "apiVersion: '{0}'",
    ],
)
def test_values_in_messages_are_printable(line: str, evil: str) -> None:
    assert_clean(str(faults_of(RUN.replace("\nimage", f"\n{line.format(evil)}\nimage"))))


# Values that were never text.


def test_python_data_is_shown_by_its_path() -> None:
    error = faults_of({**FIELDS, "resources": {"limits": {"nvidia.com/gpu": "0.5"}}, "args": ["a", 3]})
    assert str(error) == (
        "error[schema/needs-quotes]: expected a string, found the number `3`\n"
        "  --> <run>: args[1]\n"
        '   = help: quote it: "3"\n'
        "\n"
        "error[schema/whole-number]: `0.5` is not a whole number\n"
        '  --> <run>: resources.limits["nvidia.com/gpu"]\n'
        "   = help: write a whole number, such as `1`"
    )


def test_a_call_of_the_sdk_is_shown_by_its_path() -> None:
    with pytest.raises(CompileError) as caught:
        Function("train", image="python:3.12").run("job", resources={"mem": "8GB"})
    assert "  --> <run>: resources.mem\n" in str(caught.value)


def test_profile_and_platform_of_python_data_have_names_of_their_own() -> None:
    error = faults_of(FIELDS, profiles=[{"id": "x", "run_as_user": 0}], platform={"pvc": {"size": "2GB"}})
    places = [line for line in str(error).splitlines() if line.startswith("  -->")]
    assert places == ["  --> <platform>: pvc.size", "  --> <profile>: run_as_user"]


def test_a_note_on_python_data_names_its_source() -> None:
    error = faults_of({**FIELDS, "resources": {"mem": {"requests": "2Gi", "limits": "1Gi"}}})
    assert "\n   = note: limit set here: <run>\n" in str(error)


# Secrets.

SECRET = "hf_abcdefghijklmnop"  # noqa: S105  the point of the test


def test_a_line_with_a_secret_is_hidden_in_every_finding() -> None:
    source, other = source_of(f"a: 1\nsecrets: {SECRET}\nb: 2\n"), source_of("x\ny\nz\n", "other.yaml")
    place = span_of(source, 2, 10, len(SECRET))
    secret = finding_at(place)
    beside = finding_at(span_of(source, 2, 1, 7), notes=(Note("here", place), Note("there", span_of(other, 2, 1))))
    apart = finding_at(span_of(source, 3, 1))
    for findings in ([secret, beside, apart], [apart, beside, secret]):
        text = findings_as_text(findings)
        assert SECRET not in text
        assert text.count(HIDDEN) == 3
        assert "  3 | b: 2\n    | ^\n" in text
        assert "  2 | y\n" in text


def test_every_line_of_a_secret_is_hidden() -> None:
    source = source_of("secrets:\n  - name: A\n    value: |\n      first\n      second\nb: 2\n")
    secret = finding_at(span_of(source, 2, 5))
    text = findings_as_text([secret, *(finding_at(span_of(source, line, 1)) for line in range(1, 6))])
    assert "first" not in text
    assert "second" not in text
    assert "  1 | secrets:\n" in text


@pytest.mark.parametrize(
    "line",
    [
        "secrets: [{{name: A, value: {0}}}]",
        "secrets: [{{name: A, value: {0}}}, {{name: B, value: {0}}}]",
        'secrets:\n  - name: "A",\n    value: "{0}",',
        "secrets:\n  - name: A\n    value: {0}",
        "secrets:\n  - name: A\n    value: {0}\n    value: {0}",
        "secrets:\n  - {{name: A, value: {0}}}\n  - B=C",
        "secrets: {{A: {0}}}",
        "secrets:\n  A: {0}",
        "secrets: ['A={0}']",
        "secrets: 'A={0}'",
        "secrets: {0}",
        "secrets: [[{0}]]",
        "secrets: [{{name: A, valueFrom: {{secretKeyRef: {{name: {0}}}}}}}]",
        "secrets: [{{name: A, value: '{0}', value: on}}]",
        "secrets: [{{name: A, value: '{0}', 1: a}}]",
        "secrets: [{{name: A, value: !!str {0}}}]",
        "secrets: [{{name: A, value: '{0}'}}]\nlabels: {{a: on}}\nfoo: 1",
    ],
)
def test_a_secret_value_is_never_shown(line: str) -> None:
    """Neither in the excerpt nor in the words, whatever else is wrong on its line."""
    written = line.format(SECRET)
    inside = "".join(f"  {part}\n" for part in written.split("\n"))
    for text in (f"{RUN}{written}\n", f"kind: container+job:run\nname: a\nspec:\n  image: a\n{inside}"):
        assert SECRET not in str(faults_of(text))


@pytest.mark.parametrize(
    "line",
    [
        "secrets:\n  - name: A\n    value: {0}: x",
        'secrets:\n  - name: A\n    value: "{0}',
        'secrets:\n  - name: "A",\n    value: "{0}",\nlabels: [',
        "secrets: [{{name: A, value: {0}, b: *y}}]",
        'secrets: [{{name: A, value: "{0}\0"}}]',
        "secret: [{{name: A, value: {0}}}]",
    ],
)
def test_a_secret_value_in_a_broken_text_is_never_shown(line: str) -> None:
    assert SECRET not in str(faults_of(f"{RUN}{line.format(SECRET)}\n"))


def test_a_platform_only_says_where_secrets_are_and_is_shown() -> None:
    text = "registry_secret: x\nsecrets: {store: x}\n"
    platform = Source("platform.yaml", text, Layer.PLATFORM)
    assert HIDDEN not in findings_as_text([finding_at(span_of(platform, 1, 15))])
    assert HIDDEN in findings_as_text([finding_at(span_of(source_of(text), 1, 15))])


def test_a_secret_value_in_a_profile_is_never_shown() -> None:
    error = faults_of(FIELDS, profiles=[{"id": "default", "secrets": [{"name": "A", "value": SECRET}]}])
    assert SECRET not in str(error)
