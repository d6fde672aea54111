"""Syntax errors: their messages and positions, and that messages repeat nothing of the text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from speccompile.model.finding_text import findings_as_text
from speccompile.model.redaction import HIDDEN
from speccompile.model.source import Layer, Source
from speccompile.model.yaml_outline import outlines
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parse_strict import parse_exact

MISTAKES = {
    # Brackets
    "args: [a, b\nimage: p\n": ("1:7", "`[` is never closed", "add `]` after the last item"),
    "args: [a, b": ("1:7", "`[` is never closed", "add `]` after the last item"),
    "args: [": ("1:7", "`[` is never closed", "add `]` after the last item"),
    "args: [a, # ]\n": ("1:7", "`[` is never closed", "add `]` after the last item"),
    "resources: {cpu: 1\nimage: p\n": ("1:12", "`{` is never closed", "add `}` after the last value"),
    "args: [a, b}\n": ("1:12", "`[` is closed with `}`", "close it with `]`"),
    "args: [b, {c: ]\n": ("1:15", "`{` is closed with `]`", "close it with `}`"),
    "args: [a]]\n": ("1:10", "unexpected `]`", "remove it, or quote the value"),
    "args: [a] b\n": ("1:11", "text after the closing bracket", "put the whole value in quotes"),
    "args: [,]\n": ("1:8", "missing value before `,`", "remove the `,`, or write the value"),
    'args: [\n  "a"\n  "b"\n]\n': (
        "3:3",
        "expected `,` or `]`",
        "put a `,` between items; quote a text that contains `[`, `]`, `{`, `}` or `,`",
    ),
    "args: [a: b: c]\n": ("1:12", "unexpected `:`", "quote a text that contains `: `"),
    "{a: 1}\nb: 2\n": ("2:1", "text after the end of the document", "separate documents with `---`"),
    # Quotes
    'image: "p\naction: job\n': ("1:8", '`"` is never closed', 'add the closing `"`'),
    "image: 'p\n---\na: b\n": ("1:8", "`'` is never closed", "add the closing `'`"),
    'image: "p\naction: "job"\n': ("1:8", '`"` is probably never closed', 'add the closing `"`'),
    'args: ["a, b]\naction: "job"\n': ("1:8", '`"` is probably never closed', 'add the closing `"`'),
    "note: 'it's'\n": (
        "1:11",
        "text after the closing quote",
        "write `''` for an apostrophe, or use double quotes",
    ),
    'image: "p" 3\n': ("1:12", "text after the closing quote", "put the whole value in quotes"),
    'args: ["a" "b"]\n': ("1:12", "text after the closing quote", "put a `,` between items"),
    'args: ["C:\\path"]\n': (
        "1:12",
        "unknown escape in double quotes",
        "write `\\\\` for a backslash, or use single quotes",
    ),
    'args: ["\\xZZ"]\n': (
        "1:11",
        "too few hexadecimal digits in an escape",
        "write 2 digits after `\\x`, 4 after `\\u`, 8 after `\\U`; or `\\\\` for a backslash",
    ),
    # Spaces, tabs and indentation
    "args:\n- a\n-b\nimage: p\n": ("3:1", "missing space after `-`", "put a space after `-`"),
    "args:\n-a\n-b\n": ("2:1", "missing space after `-`", "put a space after `-`"),
    "volumes:\n  -name: a\n   type: b\n": ("2:3", "missing space after `-`", "put a space after `-`"),
    "args:\n  - a\n  --b\nimage: p\n": (
        "3:3",
        "missing `- ` before a list item",
        "put `- ` before each item of a list",
    ),
    "a: b\n----\nc: d\n": ("2:1", "a line of dashes is not YAML", "write `---` between documents"),
    "name:t\naction: job\n": ("1:5", "missing space after `:`", "put a space after `:`"),
    "name: t\naction:job\nimage: p\n": ("2:7", "missing space after `:`", "put a space after `:`"),
    "resources:\n  mem:8Gi\n  cpu: 1\n": ("2:6", "missing space after `:`", "put a space after `:`"),
    "name: t\nimage\naction: job\n": ("2:1", "missing `:` after a key", "put a `:` and a space after the key"),
    "name: t\nimage=p\naction: job\n": ("2:1", "`=` after a key", "write `: ` in place of `=`"),
    "name: t\n// c\na: b\n": ("2:1", "this is neither a key nor a comment", "start comments with `#`"),
    "a:\n\tb: c\n": ("2:1", "a tab in the indentation", "indent with spaces"),
    "a:\tb\n": ("1:3", "a tab in place of a space", "replace it with a space"),
    "a: b\n  c: d\n": (
        "2:3",
        "this line is indented below a key that already has a value",
        "indent it like the line above, or remove the value there",
    ),
    'a: "b"\n  - c\n': (
        "2:3",
        "this line is indented below a key that already has a value",
        "indent it like the line above, or remove the value there",
    ),
    "a:\n    b: c\n  d: e\n": (
        "3:3",
        "the indentation of this line matches no line above",
        "align it with the line that it belongs to",
    ),
    "a: b\n- c\n": (
        "2:1",
        "unexpected list item",
        "remove the value after the key above, or align `-` with the other items",
    ),
    "a: - b\n": (
        "1:4",
        "a list cannot start in the line of its key",
        "start the list in the next line, or write it in brackets: `[a, b]`",
    ),
    # Values
    "a: b: c\n": ("1:5", "`: ` in a value that is not in quotes", "put the whole value in quotes"),
    "a: “b: c”\n": ("1:6", "`: ` in a value that is not in quotes", 'replace the typographic quotes with `"`'),
    "a: @b\n": ("1:4", "a value cannot start with this character", "put the value in quotes"),
    "a: [*]\n": ("1:5", "`*` starts an alias, and needs a name", "quote a value that begins with `*`"),
    "a: & b\n": ("1:4", "`&` starts an anchor, and needs a name", "quote a value that begins with `&`"),
    "a: [!e!x y]\n": ("1:5", "this is not a valid tag", "quote a value that begins with `!`"),
    "a: ? b\n": ("1:4", "`?` is not allowed here", "quote a value that begins with `? `"),
    "a: |b\n  c\n": (
        "1:5",
        "text after `|` in the same line",
        "start the text in the next line, indented; or quote a value that begins with `|`",
    ),
    "a: |\n   b\n  c\n": (
        "3:3",
        "this line is indented less than the text of `|` above",
        "indent it as far as the first line of the text",
    ),
    "a: |\nb c\nd\n": ("2:1", "text after `|` or `>` is not indented", "indent each line of the text"),
    "%b\na: c\n": (
        "2:1",
        "this is not a valid YAML directive",
        "remove the line that starts with `%`, or quote it if it is text",
    ),
    "a: b\n... c\n": ("2:5", "text after `...`", "put it in the next line, after `---`"),
}


def read(text: str) -> Source:
    return Source("run.yaml", text, Layer.RUN)


@pytest.mark.parametrize("text", MISTAKES)
def test_mistake(text: str) -> None:
    (finding,) = parse(read(text)).findings
    assert finding.span
    place = f"{finding.span.line}:{finding.span.column}"
    assert (finding.code, place, finding.message, finding.help) == ("yaml/syntax", *MISTAKES[text])


@pytest.mark.parametrize("text", MISTAKES)
def test_secrets_hide_lines_and_never_the_explanation(text: str) -> None:
    (finding,) = parse(read(text)).findings
    for hidden in (f"secrets: [X]\n{text}", f"{text}\n# a secret: hunter2\n"):
        (found,) = [found for found in parse(read(hidden)).findings if found.code == "yaml/syntax"]
        if found.message == finding.message:
            assert found.help == finding.help
        assert "hunter2" not in findings_as_text([found])
    (found,) = parse(read(f"# secret\n{text}")).findings
    if not text.startswith("%"):
        assert (found.message, found.help) == (finding.message, finding.help)
    assert HIDDEN in findings_as_text([found]) or outlines(text)[1]


@given(st.text(alphabet="q7 \n\t:-[]{},\"'|>%@*&!?#\\=", max_size=60))
@example("q7: [q7\nq7: q7")
@example('q7: "\\q7"')
@example("%q7 q7\n---\nq7")
@example("!q7!q7 q7")
def test_messages_repeat_nothing_of_the_text(text: str) -> None:
    for finding in parse_exact(read(text)).findings:
        if finding.code == "yaml/syntax":
            words = (finding.message, finding.help or "", *(note.message for note in finding.notes))
            assert not any("q7" in word or "7q" in word or "qq" in word or "77" in word for word in words)


@pytest.mark.parametrize(
    ("text", "help_text"),
    [("a: {{ b }}\n", "put a value that contains `{{` in quotes"), ("-a: 1\n-a: 2\n", "put a space after `-`")],
)
def test_likely_mistakes_in_valid_text(text: str, help_text: str) -> None:
    assert parse(read(text)).findings[0].help == help_text
