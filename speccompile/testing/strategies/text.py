"""Strategies for text, names of all kinds, and JSON."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from speccompile.testing.strategies.building_blocks import Data, among

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
"""What has fooled some reader, template engine or terminal before."""
_characters = st.characters(
    exclude_categories=("Cs", "Cc"), include_characters="\t\n\r", exclude_characters="\ufffe\uffff"
)


@cache
def texts() -> st.SearchStrategy[str]:
    """Any text a run may hold, the traps often."""
    pieces = st.lists(st.sampled_from(TRAPS), min_size=2, max_size=3).map("".join)
    return st.sampled_from(TRAPS) | pieces | st.text(_characters, max_size=12)


@cache
def one_line_texts() -> st.SearchStrategy[str]:
    """Text without tabs and line ends, as paths have it."""
    return texts().map(lambda text: "".join(character for character in text if character.isprintable()))


@cache
def joined(first: str, middle: str, last: str, longest: int) -> st.SearchStrategy[str]:
    """Short text of the alphabets for its first character, those between, and its last."""
    inner = st.text(middle, max_size=longest - 2)
    return st.sampled_from(first) | st.builds("{}{}{}".format, st.sampled_from(first), inner, st.sampled_from(last))


_LOWER = "abcxyz"
_DIGITS = "0179"
ALPHANUMERIC = _LOWER + _LOWER.upper() + _DIGITS


@cache
def dns_labels(longest: int = 10) -> st.SearchStrategy[str]:
    return joined(_LOWER + _DIGITS, _LOWER + _DIGITS + "-", _LOWER + _DIGITS, longest)


@cache
def dns_1035_labels() -> st.SearchStrategy[str]:
    return joined(_LOWER, _LOWER + _DIGITS + "-", _LOWER + _DIGITS, 10)


@cache
def dns_subdomains() -> st.SearchStrategy[str]:
    return st.lists(dns_labels(6), min_size=1, max_size=3).map(".".join)


@cache
def run_names() -> st.SearchStrategy[str]:
    """Good names, names that look like those made for bad ones, long ones, and any text at all."""
    hashed = st.builds("{}-x{}".format, dns_labels(), st.text("0123456789abcdef", min_size=10, max_size=10))
    return st.one_of(
        dns_labels(),
        dns_labels(70),
        hashed,
        st.text("aA1-. _/é", min_size=1, max_size=6),
        texts().filter(bool),
        st.text(_characters, min_size=60, max_size=66),
    )


@cache
def label_keys() -> st.SearchStrategy[str]:
    names = joined(ALPHANUMERIC, ALPHANUMERIC + "-_.", ALPHANUMERIC, 8)
    return among("team", "tier", "example.com/team") | names | st.builds("{}/{}".format, dns_subdomains(), names)


@cache
def label_values() -> st.SearchStrategy[str]:
    return among("", "a", "b", "no", "1e3", "012") | joined(ALPHANUMERIC, ALPHANUMERIC + "-_.", ALPHANUMERIC, 12)


@cache
def env_names() -> st.SearchStrategy[str]:
    """Names of variables; those of secrets begin with `S_`."""
    return among("HOME", "HF_HOME", "no", "a.b-c") | joined("_ABCabc", "_ABC-.09", "_AZ09", 8).filter(
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
    """Any JSON value that Python, YAML and Kubernetes can hold alike."""
    numbers = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(-(2.0**62), 2.0**62)
    return st.recursive(
        st.none() | st.booleans() | numbers | texts(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3),
        max_leaves=6,
    )


@cache
def json_objects() -> st.SearchStrategy[Data]:
    return st.dictionaries(texts(), json_trees(), max_size=3)
