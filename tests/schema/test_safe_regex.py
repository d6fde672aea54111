"""Patterns of admins and targets: they match what `re` matches, and no text keeps them busy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.paths import ROOT
from helpers.work import at_most_cpu_seconds
from hypothesis import example, given
from hypothesis import strategies as st

from speccompile.compiler.bundled_library import bundled_library
from speccompile.schema.formats import safe_regex
from speccompile.schema.formats.pattern_reader import LinearPattern, linear_pattern
from speccompile.schema.formats.safe_regex import matches_part, matches_whole, pattern_fault

SLOW = [
    "(a+)(?#)+b",
    "(a|a)(?#)*b",
    "(?x)(a+) +b",
    "(?x:(a+) +)b",
    "((a+))(?#c){2,}b",
    "(?=(a*)(?#)*b)a",
    r"\x61*" * 6 + "b",
    r"\141*" * 6 + "b",
    r"\u0061*" * 6 + "b",
    "(a+)+b",
    "(a|aa)+b",
    "(a?){30}a{30}b",
    "a*a*a*a*a*a*a*a*b",
    "(?i:(A|a|[aA])*)b",
    ".*.*.*.*.*=.*",
]
"""Patterns that keep `re` busy forever, or for minutes."""


@pytest.mark.parametrize("pattern", SLOW)
def test_no_text_keeps_a_pattern_busy(pattern: str) -> None:
    assert pattern_fault(pattern) is None
    with at_most_cpu_seconds(10):
        for length in (30, 1000, 100_000):
            assert not matches_whole(pattern, "a" * length + "!")
            assert not matches_part(f"^(?:{pattern})$" if "?=" not in pattern else f"^{pattern}$", "a" * length + "!")


def test_states_that_double_with_each_character_are_bounded() -> None:
    """As a deterministic automaton, this pattern would have two to the power of 450 states."""
    pattern = "(?:a|b)*a(?:a|b){450}"
    text = "".join("ab"[number * number % 7 % 2] for number in range(20_000))
    with at_most_cpu_seconds(20):
        assert matches_whole(pattern, text) == (text[-451] == "a")


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"^ghcr\.io/acme/[a-z0-9-]+(:[\w.-]+)?$", "ghcr.io/acme/train:1.4", "ghcr.io/other/train"),
        (r"^(a|b|c)-\d{1,3}$", "b-120", "b-1200"),
        ("^team-[a-z]+(-[a-z]+)*$", "team-vision-eu", "team-vision-"),
        (r"^(?:[a-z0-9]+\.)+example\.com/.*$", "a.example.example.com/x", "example.com/x"),
        ("[a-z]+/[a-z]+/[a-z]+/[a-z]+:[0-9]+", f"a/b/{'c' * 900}/d:1", "a/b/c:1"),
        ("(a|b|c|d|e|f|g|h|i|j)-(a|b|c)-.+", f"j-c-{'x' * 5000}", "j-d-x"),
        (".+@.+", f"{'x' * 4000}@{'y' * 4000}", "x@"),
        (".+@sha256:[0-9a-f]{64}", "x@sha256:" + "0" * 64, "x@sha256:" + "0" * 63),
        (r"[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?", "a" * 253, "a" * 254),
        ("(?!localhost).+", "ghcr.io/x", "localhost/x"),
        ("(?!.*:latest$)ghcr.io/.+", "ghcr.io/x:1", "ghcr.io/x:latest"),
        ("^(?=.*[0-9])(?!.*--)[a-z0-9-]+$", "a-1", "a--1"),
        ("[a-z-]+(?<!-)", "a-b", "a-"),
        (r"(?i)S3://[a-z]+\b.*", "s3://Bucket/x", "s4://bucket"),
        ("(hf|s3|gs|oss)://.+", "gs://x", "http://x"),
        ("", "", "a"),
    ],
)
def test_typical_patterns_are_accepted(pattern: str, matching: str, other: str) -> None:
    assert pattern_fault(pattern) is None
    assert matches_whole(pattern, matching)
    assert not matches_whole(pattern, other)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(x)?(?(1)a+|a+)+b", "has a conditional (`(?(` at position 4)"),
        (r"[\1](a+)\1", r"has a back-reference (`\1` at position 8)"),
        ("(?P<n>a)(?P=n)", "has a back-reference (`(?P=` at position 8)"),
        ("a(?>a+)b", "has an atomic group (`(?>` at position 1)"),
        ("a{1,2}+b", "has a possessive repetition (`}+` at position 5)"),
        ("(?=ab)a(?=b)(?#(?=)b(?=cd)", "has a look-ahead (`(?=` at position 20)"),
        ("a(?!)", "has an empty look-around (`(?!)` at position 1)"),
        ("(?!)a", "has an empty look-around (`(?!)` at position 0)"),
        ("(?<!)a", "has an empty look-around (`(?<!)` at position 0)"),
        ("a(?<!ab)b", "has a look-behind (`(?<!` at position 1)"),
        ("(a{1,1000}){1,1000}", "has more than 500 characters, sets and anchors"),
        ("(((((){99}){99}){99}){99}){99}", "has more than 500 characters, sets and anchors"),
        ("a{4294967294}", "has more than 500 characters, sets and anchors"),
        ("(?=a{300})(?=a{300})a", "has more than 500 characters, sets and anchors"),
        (r"^a\b\B(?=a)(?=b)$", "has more than 4 different anchors"),
        ("(" * 51 + ")" * 51, "nests more than 50 groups"),
        ("a" * 100_000, "is longer than 10000 characters"),
        ("(?:" * 50_000, "is longer than 10000 characters"),
        ("(a", "is not a valid regular expression: missing ), unterminated subpattern at position 0"),
        ("(?a)(?u)x", "is not a valid regular expression: ASCII and UNICODE flags are incompatible"),
        ("a{99999999999}", "is not a valid regular expression: "),
        (r"a\\\z", r"is not a valid regular expression: bad escape \z at position 3"),
        ("(?t)a", "flag"),
    ],
)
def test_what_is_not_regular_or_too_large_is_refused(pattern: str, message: str) -> None:
    with at_most_cpu_seconds(5):
        fault = pattern_fault(pattern)
    assert fault is not None
    assert message in fault.message
    assert fault.help


def test_the_end_of_a_pattern_that_is_searched_is_that_of_the_text() -> None:
    """As in ECMA-262, which JSON schemas and editors use."""
    assert matches_part("^a$", "a")
    assert not matches_part("^a$", "a\n")
    assert matches_part("(?m)^a$", "a\nb")


def test_a_look_ahead_in_a_pattern_that_is_searched_needs_an_anchor() -> None:
    """It would be evaluated at every character."""
    assert pattern_fault("^(?!.*x)a", is_searched=True) is None
    assert matches_part("^(?!.*x)a", "ab")
    assert not matches_part("^(?!.*x)a", "abx")
    for pattern in ("(?!.*x)a", "(?m)^(?!.*x)a"):
        assert pattern_fault(pattern) is None
        fault = pattern_fault(pattern, is_searched=True)
        assert fault is not None
        assert "not preceded by `^`" in fault.message
    assert pattern_fault("(?!x)a", is_searched=True) is None


def _patterns(schema: Any) -> Iterator[str]:
    for key, value in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if key == "pattern" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _patterns(value)


def test_bundled_patterns_are_accepted() -> None:
    """A pattern with a fault would match nothing."""
    files = [*(ROOT / "schemas").glob("*.json"), *(ROOT / "templates").rglob("*.json")]
    patterns = {pattern for file in files for pattern in _patterns(json.loads(file.read_text(encoding="utf-8")))}
    assert len(patterns) > 10
    assert {pattern: pattern_fault(pattern, is_searched=True) for pattern in patterns} == dict.fromkeys(patterns)


# Patterns of a grammar

CHARACTERS = [
    "a",
    "b",
    "A",
    r"\x61",
    r"\141",
    r"\u0061",
    ".",
    "[ab]",
    "[^a]",
    "[a-z_]",
    r"\w",
    r"\W",
    r"\d",
    r"[^\s\d]",
]
POINTS = ["^", "$", r"\A", r"\Z", r"\b", r"\B", "(?#c)", ""]
GROUPS = ["({})", "(?:{})", "(?P<n>{})", "(?i:{})", "(?x: {} # c\n)", "(?s-i:{})", "(?m:{})", "(?a:{})"]
REFUSED = ["(?={})", "(?!{})", "(?<={})", "(?<!{})", "(?>{})", r"({})\1", "(?P<n>{})(?P=n)", "(x)?(?(1){}|a)"]
COUNTS = ["*", "+", "?", "{{2,}}", "{{1,3}}", "{{0}}", "{{3}}"]
REPEATS = [
    f"{{}}{comment}{count}{kind}"
    for comment in ("", "(?#)", " ")
    for count in COUNTS
    for kind in ("", "", "?", "?", "+")
]


def grown(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.tuples(st.sampled_from(GROUPS), st.sampled_from(REPEATS), patterns).map(
        lambda parts: parts[1].format(parts[0].format(parts[2]))
    )
    pairs = st.tuples(patterns, patterns)
    return st.one_of(
        repeated,
        repeated,
        st.tuples(st.sampled_from([*GROUPS, *REFUSED]), patterns).map(lambda parts: parts[0].format(parts[1])),
        pairs.map("|".join),
        pairs.map("".join),
    )


LEAVES = st.one_of(
    st.sampled_from(CHARACTERS),
    st.tuples(st.sampled_from(REPEATS), st.sampled_from(CHARACTERS)).map(lambda parts: parts[0].format(parts[1])),
    st.sampled_from(POINTS),
)
PATTERNS = st.tuples(st.sampled_from(["", "(?i)", "(?x)", "(?s)", "(?m)", "(?a)"]), st.recursive(LEAVES, grown)).map(
    "".join
)
TEXTS = st.text("abA1_ é\n", max_size=5)


@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=5))
def test_patterns_match_what_they_match_in_python(pattern: str, texts: list[str]) -> None:
    try:
        expected = re.compile(pattern)
    except re.error:
        assert pattern_fault(pattern)
        return
    for text in texts:
        # Before Python 3.14, `\B` does not match the empty text.
        if not pattern_fault(pattern) and (text or r"\B" not in pattern):
            assert matches_whole(pattern, text) == (expected.fullmatch(text) is not None)
        if not pattern_fault(pattern, is_searched=True) and (text or r"\B" not in pattern):
            assert matches_part(pattern, text) == (expected.search(text) is not None)


SETS = st.tuples(st.lists(st.sampled_from(["a-z", "A-Z", "0-9", "_"]), min_size=1), st.sampled_from(["", "-"])).map(
    lambda parts: f"[{''.join(parts[0])}{parts[1]}]"
)
SETS_AT_BOTH_ENDS = st.tuples(
    st.lists(SETS, min_size=1, max_size=3).map("".join), st.sampled_from(["", "*", "+", "{0,2}", "{0,62}"])
).map(lambda parts: f"^{parts[0]}{parts[1]}$")


@example("^[a-z]$", ["a\n"])
@given(SETS_AT_BOTH_ENDS, st.lists(st.text("abA1_-é\n", max_size=5), min_size=1, max_size=5))
def test_a_pattern_without_a_choice_matches_what_its_automaton_does(pattern: str, texts: list[str]) -> None:
    assert re.fullmatch(safe_regex._ONE_REPEATED_SET, pattern)
    compiled = linear_pattern(pattern, is_searched=True)
    assert isinstance(compiled, LinearPattern)
    for text in texts:
        expected = compiled.automaton.matches(text, starts_anywhere=True, ends_anywhere=True)
        assert matches_part(pattern, text) == expected


def test_a_run_needs_no_automaton() -> None:
    action = bundled_library().schemas["run"]["properties"]["action"]["pattern"]
    assert re.fullmatch(safe_regex._ONE_REPEATED_SET, action)


@given(PATTERNS, st.text("abA1_ ", min_size=1, max_size=4), st.sampled_from(["", "!", "\n", "b"]))
def test_no_text_keeps_a_generated_pattern_busy(pattern: str, pumped: str, end: str) -> None:
    """The text repeats characters of the pattern and ends in one that may not match."""
    with at_most_cpu_seconds(5):
        fault = pattern_fault(pattern, is_searched=True)
        for text in (pumped * 2000 + end, "a" * 5000 + end):
            if fault is None:
                matches_whole(pattern, text)
                matches_part(pattern, text)
