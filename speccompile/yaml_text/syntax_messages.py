"""Explain YAML syntax errors in words that never repeat the text of the file.

Redaction can therefore show every message as it is: only excerpts are hidden where a line may contain a secret.
"""

from __future__ import annotations

import re

from ruamel.yaml import events as kinds
from ruamel.yaml.error import MarkedYAMLError

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.yaml_text.syntax_context import Place, Progress, SyntaxContext, place_of_mark

_CLOSERS = {"[": "]", "{": "}"}
_QUOTES = ("'", '"')
_TYPOGRAPHIC = frozenset("“”„‟‘’‚‛")
_BLOCK_STYLES = ("|", ">")
_INDENT_HELP = "align it with the line that it belongs to"
_BLOCK_HEADER = re.compile(r"(?:^|[:\-]\s)\s*[|>][-+0-9]*\s*(?:#.*)?$")
_MISSING_SPACE = re.compile(r"""\s*(?:- +)*["']?[A-Za-z_][-\w./]*["']?:[^\s:/]""")
_PAIR = re.compile(r"""\s*(?:- +)*["']?[^\s"'#:]+["']?:(?:\s|$)""")
_PLAIN_DASH = re.compile(r"\s*-[^-\s]")


class SyntaxMessage(NamedTuple):
    """A syntax error in plain words: message, help, place, and an optional note."""

    message: str
    help: str | None
    place: Place
    note: str | None = None
    note_place: Place | None = None


def explain_syntax(text: str, error: MarkedYAMLError, progress: Progress) -> SyntaxMessage:
    """The error in plain words; it repeats nothing of the text except punctuation of YAML."""
    mark = error.problem_mark or error.context_mark
    place = place_of_mark(mark) if mark else Place(0, 1, 1)
    known = SyntaxContext(
        text,
        str(error.problem or ""),
        str(error.context or ""),
        place,
        place_of_mark(error.context_mark) if error.context_mark else None,
        progress.last,
        # The one pair of `[a: b]` is a mapping without a bracket.
        [one for one in progress.brackets if one and text[one.offset : one.offset + 1] in _CLOSERS],
    )
    return next(
        (explainer(known) for sign, explainer in _EXPLAINERS if sign in known.problem or sign in known.context),
        SyntaxMessage("this is not valid YAML", None, place),
    )


def _unclosed_bracket(error: SyntaxContext, bracket: Place) -> SyntaxMessage:
    opener = error.text[bracket.offset]
    is_at_end = not error.text[error.place.offset :].strip()
    note = (None, None) if is_at_end or error.place.line == bracket.line else ("still open here", error.place)
    what = "item" if opener == "[" else "value"
    return SyntaxMessage(
        f"`{opener}` is never closed", f"add `{_CLOSERS[opener]}` after the last {what}", bracket, *note
    )


def _in_brackets(error: SyntaxContext) -> SyntaxMessage:
    """`expected ',' or ']'`, after an item."""
    bracket = error.start or error.place
    opener, symbol = error.text[bracket.offset : bracket.offset + 1], error.symbol
    closer = _CLOSERS.get(opener, "]")
    if symbol in _CLOSERS.values() and symbol != closer:
        return SyntaxMessage(
            f"`{opener}` is closed with `{symbol}`", f"close it with `{closer}`", error.place, "opened here", bracket
        )
    if quoted := _after_quote(error):
        return quoted
    if not _is_closed(error.text, bracket.offset):
        return _unclosed_bracket(error, bracket)
    if symbol == ":":
        return SyntaxMessage("unexpected `:`", "quote a text that contains `: `", error.place)
    help_text = "put a `,` between items; quote a text that contains `[`, `]`, `{`, `}` or `,`"
    return SyntaxMessage(f"expected `,` or `{closer}`", help_text, error.place, "in the brackets opened here", bracket)


def _is_closed(text: str, start: int) -> bool:
    """Whether the bracket has a partner, not counting those in quotes and comments."""
    depth, index = 0, start
    while index < len(text):
        character, before = text[index], text[index - 1 : index]
        if character in _QUOTES and before in ("", " ", "\t", "\n", "\r", ",", "[", "{", ":"):
            index = text.find(character, index + 1)
            if index < 0:
                return False
        elif character == "#" and before.isspace():
            index = min((end for mark in "\r\n" if (end := text.find(mark, index)) >= 0), default=len(text))
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
            if not depth:
                return True
        index += 1
    return False


def _after_quote(error: SyntaxContext) -> SyntaxMessage | None:
    """Text directly after a quoted value: the quote was closed too early, or too late."""
    event = error.last
    if not isinstance(event, kinds.ScalarEvent) or event.style not in _QUOTES or error.symbol == ":":
        return None
    start, end = event.start_mark, event.end_mark
    if error.text[end.index : error.place.offset].strip(" \t"):
        return None
    if start.line != end.line:
        return SyntaxMessage(
            f"`{event.style}` is probably never closed",
            f"add the closing `{event.style}`",
            place_of_mark(start),
            f"the next `{event.style}` closes it, and more text follows",
            error.place,
        )
    if event.style == "'" and end.index == error.place.offset:
        return SyntaxMessage(
            "text after the closing quote", "write `''` for an apostrophe, or use double quotes", error.place
        )
    if error.brackets:
        return SyntaxMessage("text after the closing quote", "put a `,` between items", error.place)
    return SyntaxMessage("text after the closing quote", "put the whole value in quotes", error.place)


def _after_block(error: SyntaxContext) -> SyntaxMessage:
    """`expected <block end>`: something that is not part of the mapping or list around it."""
    symbol, place, event = error.symbol, error.place, error.last
    if symbol in ("<block mapping start>", "?", "<block sequence start>"):
        above, line = error.line_above(place.line)
        is_below_scalar = bool(above and line.strip()) and isinstance(event, kinds.ScalarEvent)
        if is_below_scalar and place.column > error.start_of_line(above).column:
            return _value_and_block(error, place)
        return SyntaxMessage("the indentation of this line matches no line above", _INDENT_HELP, place)
    if symbol == "-":
        return SyntaxMessage(
            "unexpected list item", "remove the value after the key above, or align `-` with the other items", place
        )
    if quoted := _after_quote(error):
        return quoted
    if isinstance(event, kinds.ScalarEvent) and event.style in _BLOCK_STYLES:
        return SyntaxMessage(
            f"this line is indented less than the text of `{event.style}` above",
            "indent it as far as the first line of the text",
            place,
        )
    if isinstance(event, kinds.CollectionEndEvent) and symbol in ("<scalar>", "[", "{", "<alias>"):
        return SyntaxMessage("text after the closing bracket", "put the whole value in quotes", place)
    if symbol in ("]", "}", ","):
        return SyntaxMessage(f"unexpected `{symbol}`", "remove it, or quote the value", place)
    return SyntaxMessage("unexpected text", "check the indentation, and quote values with punctuation", place)


def _value_and_block(error: SyntaxContext, place: Place) -> SyntaxMessage:
    above, _ = error.line_above(place.line)
    return SyntaxMessage(
        "this line is indented below a key that already has a value",
        "indent it like the line above, or remove the value there",
        error.start_of_line(place.line),
        "the key with a value",
        error.start_of_line(above),
    )


def _colon(error: SyntaxContext) -> SyntaxMessage:
    """`mapping values are not allowed here`: a second `:` in a line, or a key where none can be."""
    line = error.line(error.place.line)
    before = line[: error.place.column - 1]
    if _PAIR.match(before + " "):
        value = before.partition(":")[2].strip()
        help_text = 'replace the typographic quotes with `"`' if value[:1] in _TYPOGRAPHIC else None
        message = "`: ` in a value that is not in quotes"
        return SyntaxMessage(message, help_text or "put the whole value in quotes", error.place)
    number, above = error.line_above(error.place.line)
    if _PLAIN_DASH.match(above):
        return _dash_without_space(error.start_of_line(number))
    if _MISSING_SPACE.match(above) and not _PAIR.match(above):
        return _colon_without_space(error, number)
    if (
        number
        and _PAIR.match(above)
        and error.start_of_line(error.place.line).column > error.start_of_line(number).column
    ):
        return _value_and_block(error, error.place)
    return SyntaxMessage("unexpected `:`", "quote a value that contains `: `, and check the indentation", error.place)


def _dash_without_space(place: Place) -> SyntaxMessage:
    return SyntaxMessage("missing space after `-`", "put a space after `-`", place)


def _colon_without_space(error: SyntaxContext, number: int) -> SyntaxMessage:
    column = error.line(number).index(":") + 1
    return SyntaxMessage("missing space after `:`", "put a space after `:`", Place(error.place.offset, number, column))


def _key(error: SyntaxContext) -> SyntaxMessage:
    """`could not find expected ':'`: a line that is neither a key nor an item."""
    start = error.start or error.place
    line = error.line(start.line)[start.column - 1 :]
    _, above = error.line_above(start.line)
    if set(line.strip()) == {"-"}:
        return SyntaxMessage("a line of dashes is not YAML", "write `---` between documents", start)
    if line.startswith("--"):
        return SyntaxMessage("missing `- ` before a list item", "put `- ` before each item of a list", start)
    if line.startswith("-"):
        return _dash_without_space(start)
    if line.startswith(("//", ";")):
        return SyntaxMessage("this is neither a key nor a comment", "start comments with `#`", start)
    if _BLOCK_HEADER.search(above):
        return SyntaxMessage("text after `|` or `>` is not indented", "indent each line of the text", start)
    if line[:1] in _QUOTES and start.line != error.place.line and line.count(line[0]) == 1:
        return _unclosed_quote(error)
    if line[:1] in _CLOSERS:
        return _unclosed_bracket(error, start)
    if _MISSING_SPACE.match(line):
        return _colon_without_space(error, start.line)
    if re.match(r"[-\w.]+\s*=", line):
        return SyntaxMessage("`=` after a key", "write `: ` in place of `=`", start)
    return SyntaxMessage("missing `:` after a key", "put a `:` and a space after the key", start)


def _unclosed_quote(error: SyntaxContext) -> SyntaxMessage:
    start = error.start or error.place
    quote = error.text[start.offset : start.offset + 1]
    return SyntaxMessage(f"`{quote}` is never closed", f"add the closing `{quote}`", start)


def _first_character(error: SyntaxContext) -> SyntaxMessage:
    if error.text[error.place.offset : error.place.offset + 1] == "\t":
        return _tab(error)
    return SyntaxMessage("a value cannot start with this character", "put the value in quotes", error.place)


def _tab(error: SyntaxContext) -> SyntaxMessage:
    before = error.line(error.place.line)[: error.place.column - 1]
    message = "a tab in place of a space" if before.strip() else "a tab in the indentation"
    help_text = "replace it with a space" if before.strip() else "indent with spaces"
    return SyntaxMessage(message, help_text, error.place)


def _value(error: SyntaxContext) -> SyntaxMessage:
    """`expected the node content`: nothing where a value must be."""
    if error.brackets and error.symbol == "<stream end>":
        return _unclosed_bracket(error, error.brackets[-1])
    if error.symbol in ("]", "}") and error.brackets:
        bracket = error.brackets[-1]
        opener = error.text[bracket.offset]
        if _CLOSERS[opener] != error.symbol:
            closer = _CLOSERS[opener]
            message = f"`{opener}` is closed with `{error.symbol}`"
            return SyntaxMessage(message, f"close it with `{closer}`", error.place, "opened here", bracket)
    if error.symbol == ",":
        return SyntaxMessage("missing value before `,`", "remove the `,`, or write the value", error.place)
    return SyntaxMessage("missing value", "write the value here", error.place)


def _list_item(error: SyntaxContext) -> SyntaxMessage:
    if error.line(error.place.line)[: error.place.column - 1].strip():
        return SyntaxMessage(
            "a list cannot start in the line of its key",
            "start the list in the next line, or write it in brackets: `[a, b]`",
            error.place,
        )
    return SyntaxMessage("unexpected list item", "align `-` with the other items", error.place)


def _after_document(error: SyntaxContext) -> SyntaxMessage:
    if error.text.startswith("%") or "\n%" in error.text:
        return _directive(error)
    return SyntaxMessage("text after the end of the document", "separate documents with `---`", error.place)


def _directive(error: SyntaxContext) -> SyntaxMessage:
    help_text = "remove the line that starts with `%`, or quote it if it is text"
    return SyntaxMessage("this is not a valid YAML directive", help_text, error.place)


def _alias(error: SyntaxContext) -> SyntaxMessage:
    is_alias = "alias" in error.context
    sign, what = ("*", "alias") if is_alias else ("&", "anchor")
    place = error.start or error.place
    return SyntaxMessage(
        f"`{sign}` starts an {what}, and needs a name", f"quote a value that begins with `{sign}`", place
    )


def _escape(error: SyntaxContext) -> SyntaxMessage:
    return SyntaxMessage(
        "unknown escape in double quotes", "write `\\\\` for a backslash, or use single quotes", error.place
    )


def _short_escape(error: SyntaxContext) -> SyntaxMessage:
    help_text = "write 2 digits after `\\x`, 4 after `\\u`, 8 after `\\U`; or `\\\\` for a backslash"
    return SyntaxMessage("too few hexadecimal digits in an escape", help_text, error.place)


def _block_header(error: SyntaxContext) -> SyntaxMessage:
    sign = error.text[error.start.offset : error.start.offset + 1] if error.start else "|"
    sign = sign if sign in _BLOCK_STYLES else "|"
    help_text = f"start the text in the next line, indented; or quote a value that begins with `{sign}`"
    return SyntaxMessage(f"text after `{sign}` in the same line", help_text, error.place)


def _block_indent(error: SyntaxContext) -> SyntaxMessage:
    message = "the blank lines before this text have more spaces than the text itself"
    return SyntaxMessage(message, "remove the spaces in the blank lines", error.place)


def _tag(error: SyntaxContext) -> SyntaxMessage:
    return SyntaxMessage("this is not a valid tag", "quote a value that begins with `!`", error.start or error.place)


def _question(error: SyntaxContext) -> SyntaxMessage:
    return SyntaxMessage("`?` is not allowed here", "quote a value that begins with `? `", error.place)


def _after_marker(error: SyntaxContext) -> SyntaxMessage:
    return SyntaxMessage("text after `...`", "put it in the next line, after `---`", error.place)


_EXPLAINERS = (
    ("expected ',' or", _in_brackets),
    ("expected <block end>", _after_block),
    ("mapping values are not allowed here", _colon),
    ("could not find expected ':'", _key),
    ("that cannot start any token", _first_character),
    ("found a tab character", _tab),
    ("found unexpected end of stream", _unclosed_quote),
    ("found unexpected document separator", _unclosed_quote),
    ("expected the node content", _value),
    ("sequence entries are not allowed here", _list_item),
    ("mapping keys are not allowed here", _question),
    ("expected '<document start>'", _after_document),
    ("after document end marker", _after_marker),
    ("directive", _directive),
    ("incompatible YAML document", _directive),
    ("duplicate tag handle", _directive),
    ("scanning an alias", _alias),
    ("scanning an anchor", _alias),
    ("unknown escape character", _escape),
    ("expected escape sequence", _short_escape),
    ("more indented follow up line", _block_indent),
    ("scanning a block scalar", _block_header),
    ("tag", _tag),
    ("found unexpected ':'", _colon),
)
"""Text in the problem or context of an error, and the function that explains it; the first match counts."""
