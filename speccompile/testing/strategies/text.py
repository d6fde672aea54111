"""Strategies for text, names and JSON."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.building_blocks import among

TRAPS = (
    "",
    " ",
    "  two  ",
    "no",
    "on",
    "y",
    "null",
    "~",
    "<<",
    "=",
    "012",
    "1:30",
    "1e3",
    "0x1f",
    "-1",
    ".inf",
    "2026-01-01",
    "- item",
    "key: value",
    "key:",
    "#comment",
    "text #comment",
    "&anchor",
    "*alias",
    "!!python/object/apply:os.system [id]",
    "%YAML 1.1",
    "---",
    "...",
    "| block",
    "> folded",
    "'",
    '"',
    "\\",
    "\\n",
    "{}",
    "[]",
    "{a: b}",
    "{{ spec.image }}",
    "{{ 7 * 7 }}",
    "{{ ''.__class__.__mro__ }}",
    "{% for x in y %}",
    "{% raw %}",
    "{# comment #}",
    "${HOME}",
    "$(HOME)",
    "<script>alert(1)</script>",
    "&lt;&amp;",
    "\n",
    "one\ntwo",
    "one\ntwo\n",
    "\none\n\n two \n\n",
    "tab\tbed",
    "carriage\r\nreturn",
    "trailing \n spaces ",
    "\ue000",
    "\ue0000\ue001",
    "a\ue0001\ue001b",
    "\ue002kubernetes/job.yaml.j2:1\ue003",
    "\u2028\u2029",
    "\ufeffmark",
    "\u202eright to left",
    "שלום עולם",
    "naïve – ünïcode",
    "😀",
    "e\u0301",
    "\u00a0",
)
"""Texts that YAML readers, template engines or terminals are known to misinterpret."""
_characters = st.characters(
    exclude_categories=("Cs", "Cc"), include_characters="\t\n\r", exclude_characters="\ufffe\uffff"
)


@cache
def any_texts() -> st.SearchStrategy[str]:
    """Any text that a run may contain, often from TRAPS."""
    combinations = st.lists(st.sampled_from(TRAPS), min_size=2, max_size=3).map("".join)
    return st.sampled_from(TRAPS) | combinations | st.text(_characters, max_size=12)


@cache
def one_line_texts() -> st.SearchStrategy[str]:
    """Text without control characters, for paths."""
    return any_texts().map(lambda text: "".join(character for character in text if character.isprintable()))


@cache
def texts_from_alphabets(first: str, middle: str, last: str, max_length: int) -> st.SearchStrategy[str]:
    """Short text with an alphabet each for the first, the inner and the last characters."""
    inner = st.text(middle, max_size=max_length - 2)
    return st.sampled_from(first) | st.builds("{}{}{}".format, st.sampled_from(first), inner, st.sampled_from(last))


_LOWER = "abcxyz"
_DIGITS = "0179"
ALPHANUMERIC = _LOWER + _LOWER.upper() + _DIGITS


@cache
def dns_labels(max_length: int = 10) -> st.SearchStrategy[str]:
    return texts_from_alphabets(_LOWER + _DIGITS, _LOWER + _DIGITS + "-", _LOWER + _DIGITS, max_length)


@cache
def dns_1035_labels() -> st.SearchStrategy[str]:
    return texts_from_alphabets(_LOWER, _LOWER + _DIGITS + "-", _LOWER + _DIGITS, 10)


@cache
def dns_subdomains() -> st.SearchStrategy[str]:
    return st.lists(dns_labels(6), min_size=1, max_size=3).map(".".join)


@cache
def run_names() -> st.SearchStrategy[str]:
    """Valid names, names that look like generated ones, long names, and any text."""
    hashed = st.builds("{}-x{}".format, dns_labels(), st.text("0123456789abcdef", min_size=10, max_size=10))
    return st.one_of(
        dns_labels(),
        dns_labels(70),
        hashed,
        st.text("aA1-. _/é", min_size=1, max_size=6),
        any_texts().filter(bool),
        st.text(_characters, min_size=60, max_size=66),
    )


@cache
def label_keys() -> st.SearchStrategy[str]:
    names = texts_from_alphabets(ALPHANUMERIC, ALPHANUMERIC + "-_.", ALPHANUMERIC, 8)
    return among("team", "tier", "example.com/team") | names | st.builds("{}/{}".format, dns_subdomains(), names)


@cache
def label_values() -> st.SearchStrategy[str]:
    return among("", "a", "b", "no", "1e3", "012") | texts_from_alphabets(
        ALPHANUMERIC, ALPHANUMERIC + "-_.", ALPHANUMERIC, 12
    )


@cache
def env_names() -> st.SearchStrategy[str]:
    """Names of variables, distinct from those of secrets, which begin with `S_`."""
    return among("HOME", "HF_HOME", "no", "a.b-c") | texts_from_alphabets("_ABCabc", "_ABC-.09", "_AZ09", 8).filter(
        lambda name: not name.startswith("S_")
    )


@cache
def secret_ids() -> st.SearchStrategy[str]:
    return st.text("AB_-.09", max_size=3).map("S_{}".format)


@cache
def images() -> st.SearchStrategy[str]:
    return st.builds(
        "{}{}{}{}".format,
        among("", "ghcr.io/", "localhost:5000/", "registry.example.com/team/"),
        among("python", "train", "a/b", "my__app-x.y", "0"),
        among("", ":3.12", ":latest", ":1", ":1e3", ":v1.0_x-Y"),
        among("", "@sha256:" + "0123456789abcdef" * 4),
    )


@cache
def json_trees() -> st.SearchStrategy[Any]:
    """Any JSON value that Python, YAML and Kubernetes represent alike."""
    numbers = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(-(2.0**62), 2.0**62)
    return st.recursive(
        st.none() | st.booleans() | numbers | any_texts(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_texts(), inner, max_size=3),
        max_leaves=6,
    )


@cache
def json_objects() -> st.SearchStrategy[Data]:
    return st.dictionaries(any_texts(), json_trees(), max_size=3)
