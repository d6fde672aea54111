"""Regular expressions of Go say what they say there, in time that grows with the text alone."""

from __future__ import annotations

import re
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompile.verify.go_regex import matcher


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
        (
            r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$",
            ["a.example.com", f"{'a' * 63}.b"],
            ["-a", "a..b", "a" * 64],
        ),
    ],
)
def test_a_pattern_matches_what_it_should(pattern: str, good: list[str], bad: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matches = matcher(pattern)
        assert matches
        assert [text for text in good if not matches(text)] == []
        assert [text for text in bad if matches(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?i)a", "(a", "a)", "*a", r"\pL", r"\Q.\E", r"\1", "[a", "[b-a]", "[[:no:]]", "[+--]", "a{2,1}", "a{5000}"),
        *("(" * 99, "a" * 9999, "((a{30}){30}){30}"),
    ],
)
def test_what_cannot_be_judged_is_not(pattern: str) -> None:
    assert matcher(pattern) is None


pieces = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", "^", "$"]),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}"])).map(lambda two: f"(?:{two[0]}){two[1]}")
    ),
    max_leaves=6,
)


@given(pieces, st.text("abc", max_size=8))
def test_a_pattern_matches_what_it_matches_in_python(pattern: str, text: str) -> None:
    """On short texts Python is the witness; without line ends, `$` is the end of the text to both."""
    matches = matcher(pattern)
    assert matches
    assert matches(text) == bool(re.search(pattern, text))


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*(a*)*$", "((a?){20}){20}$", ".*.*.*.*b"])
def test_no_text_takes_forever(pattern: str) -> None:
    matches = matcher(pattern)
    assert matches
    before = time.process_time()
    assert isinstance(matches("a" * 700 + "b"), bool)
    assert matches("a" * 1_000_000)
    assert time.process_time() - before < 10
