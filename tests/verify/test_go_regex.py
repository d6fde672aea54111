"""Patterns mean what they mean in Go, within limits of time and memory."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest
from helpers.work import at_most_cpu_seconds
from hypothesis import given
from hypothesis import strategies as st

from speccompile.verify.go_regex import MISSING, CompiledPattern, Patterns, UnusablePattern, compile_pattern


def expression(pattern: str) -> CompiledPattern:
    made = compile_pattern(pattern)
    assert isinstance(made, CompiledPattern), made
    return made


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("", ["", "a"], []),
        ("b", ["b", "abc"], ["", "a"]),
        ("^a$", ["a"], ["", "aa", "ab", "a\n"]),
        (r"\Aa\z", ["a"], ["ba", "ab"]),
        ("^a|b$", ["a", "ax", "b", "xb"], ["xa", "bx"]),
        ("^(a|bc)*$", ["", "abca"], ["ab", "cb"]),
        ("^a{2}$", ["aa"], ["a", "aaa"]),
        ("^a{2,}?$", ["aa", "aaa"], ["a"]),
        ("^(?:ab){1,2}$", ["ab", "abab"], ["", "ababab"]),
        ("^(?P<name>a)+?$", ["a", "aa"], [""]),
        ("^[a-c]+$", ["abc"], ["d", ""]),
        ("^[^a-c]$", ["d", "é"], ["a"]),
        ("^[]a]$", ["]", "a"], ["b"]),
        ("^[[:alpha:]_]+$", ["aZ_"], ["1"]),
        ("^[[a&&b||c~~d-]$", ["[", "&", "|", "~", "-"], ["x"]),
        (r"^\d+\.\d$", ["12.3"], ["1x3", "1.٣"]),
        (r"^\w\s\S$", ["a b"], ["a  "]),
        (r"^[\w.]+\]\/$", ["a.b]/"], ["a b]/"]),
        (r"\bab\b", ["ab", "x ab y"], ["xab", "aby"]),
        (r"a\Bb", ["ab"], ["a b"]),
        ("^.$", ["a", "é"], ["", "\n", "ab"]),
        ("^a{,2}$", ["a{,2}"], ["aa"]),
        ("^(?i)ab$", ["aB"], ["ac"]),
        ("(?s)^.$", ["\n"], ["ab"]),
        (r"^\pL+$", ["aéß中"], ["1", "_"]),
        (r"^\Q.*\E$", [".*"], ["a"]),
        ("^[+--]$", ["+", ",", "-"], ["."]),
        ("^[a-z]{1,1000}$", ["a", "a" * 1000], ["", "a" * 1001]),
        ("^.$|\ud800b", ["\ud800", "a\ufffdb"], ["\ud800a"]),
        (
            r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$",
            ["a.example.com", f"{'a' * 63}.b"],
            ["-a", "a..b", "a" * 64],
        ),
    ],
)
def test_a_pattern_matches_what_it_should(pattern: str, good: list[str], bad: list[str]) -> None:
    matches = expression(pattern).matches
    assert [text for text in good if not matches(text)] == []
    assert [text for text in bad if matches(text)] == []


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "missing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing ]: `[a`"),
        ("*a", "no argument for repetition operator: `*`"),
        ("a**", "bad repetition operator: `**`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("[[:no:]]", "invalid character class range: `[:no:]`"),
        ("a{2,1}", "invalid repetition size: `{2,1}`"),
        ("a{1001}", "invalid repetition size: `{1001}`"),
        ("((a{30}){30}){30}", "invalid repetition size: `{30}`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        ("(?=a)", "invalid perl operator: `(?=`"),
        ("\\", "trailing \\"),
    ],
)
def test_a_pattern_that_go_refuses_is_invalid(pattern: str, reason: str) -> None:
    assert compile_pattern(pattern) == UnusablePattern(reason, is_invalid=True)


@pytest.mark.parametrize("pattern", [r"\pL{1000}", "a" * 1_000_000, "|".join(["[a-z]{0,1000}"] * 200), r"\p{Letter}"])
def test_a_pattern_that_only_go_can_match_is_not_called_invalid(pattern: str) -> None:
    made = compile_pattern(pattern)
    assert isinstance(made, UnusablePattern)
    assert not made.is_invalid


@pytest.mark.parametrize(("copies", "most"), [(20, 3), (200, 20)])
def test_the_patterns_of_a_definition_share_a_limit(copies: int, most: int) -> None:
    """Of patterns that are as large as one may be, or larger, a few are compiled, and the others are not."""
    patterns = Patterns()
    hostile = [f"{'|'.join(['[a-z]{0,1000}'] * copies)}{number}" for number in range(most + 5)]
    compile_pattern.cache_clear()
    last = [patterns.problem(pattern) for pattern in hostile][-5:]
    assert {made.reason for made in last if made} == {"the patterns of this definition take too much memory"}
    assert all(last)
    assert compile_pattern.cache_info().misses == most


def test_many_ordinary_patterns_stay_within_the_limit() -> None:
    patterns = Patterns()
    assert [patterns.problem(f"^[a-z0-9]([-a-z0-9]{{0,61}}[a-z0-9])?{number}$") for number in range(300)] == [
        None
    ] * 300


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    compile_pattern.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "re2", None)
        yield
    compile_pattern.cache_clear()


@pytest.mark.usefixtures("no_package")
def test_without_the_package_no_pattern_is_judged() -> None:
    patterns = Patterns()
    assert [patterns.problem(f"(a{number}") for number in range(100)] == [MISSING] * 100


patterns = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", "^", "$"]),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}"])).map(lambda two: f"(?:{two[0]}){two[1]}")
    ),
    max_leaves=6,
)


@given(patterns, st.text("abc", max_size=8))
def test_a_pattern_matches_what_it_matches_in_python(pattern: str, text: str) -> None:
    """On short texts Python is the witness; without line ends, `$` is the end of the text to both."""
    assert expression(pattern).matches(text) == bool(re.search(pattern, text))


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*(a*)*$", "((a?){20}){20}$", ".*.*.*.*b", "(?:a?){1000}c"]
)
def test_the_cost_of_a_text_bounds_its_time(pattern: str) -> None:
    made = expression(pattern)
    text = "a" * 20_000 + "d"
    # A unit is 4 µs; machines differ.
    with at_most_cpu_seconds(made.cost(text) * 100e-6):
        made.matches(text)
