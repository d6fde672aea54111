"""Write documents as canonical YAML or JSON."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

JsonValue: TypeAlias = "Mapping[str, JsonValue] | Sequence[JsonValue] | str | int | float | bool | None"

# A reader may refuse an implicit key of more than 1024 characters, counted as written.
_LONGEST_SIMPLE_KEY = 1000
_LONGEST_PLAIN = 999
# Longer strings rarely repeat, and would stay in memory.
_LONGEST_CACHED = 200

_NUMBERS = (int, float)
_SEQUENCES = (list, tuple)
# `dict` comes first because the check against the abstract class costs several times more.
_MAPPINGS = (dict, Mapping)

# Words that YAML 1.1 or 1.2 readers do not resolve to a string, in lower case.
_RESERVED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})

_PLAIN_CHARACTER = r"[A-Za-z0-9_./@=+,-]"
_PLAIN_WORD_REST = rf"(?:{_PLAIN_CHARACTER}|:(?=[A-Za-z0-9_./]))*"
_PLAIN = re.compile(
    # Words, flags and paths: no number, date or indicator starts like them.
    rf"(?:-{{0,2}}[A-Za-z]|\.{{0,2}}/){_PLAIN_WORD_REST}(?: {_PLAIN_CHARACTER}{_PLAIN_WORD_REST})*"
    # Quantities and durations, without a bare `E` or `e`, which could start an exponent.
    r"|[0-9]+(?:\.[0-9]+)?(?:[KMGTPE]i|[kMGTPmunsh]|[mun]s)"
)

# Control, format, separator, private-use and surrogate characters and noncharacters, except the line feed.
# Listed here, not taken from `unicodedata`, so that every Python version writes the same text.
_UNPRINTABLE = (
    r"\x00-\x09\x0b-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\uf8ff\ufdd0-\ufdef\ufeff\ufff0-\ufffb\ufffe\uffff"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U0010ffff"
)
_ESCAPED = rf'["\\\n{_UNPRINTABLE}]'
_UNFIT_ENDS = re.compile(r"\A[ \n]| (?:\n|\Z)|\n\n\Z")
_FILLED_LINE_START = re.compile(r"\n(?!\n)")
_SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def serialize(documents: Iterable[Mapping[str, JsonValue]]) -> str:
    """Write documents as a YAML stream that YAML 1.1 and 1.2 readers read alike, keys in order.

    The text depends only on the documents. It ends with one newline, or is empty if there are no documents, and
    contains no control or format character except the line feed.

    Raises ValueError for a lone surrogate, a NaN or an infinity, which some readers refuse, and TypeError for
    anything that is not JSON-like.
    """
    lines: list[str] = []
    for document in documents:
        if lines:
            lines.append("---")
        lines += entries(document)
    if not lines:
        return ""
    lines.append("")
    return "\n".join(lines)


def entries(document: Mapping[str, JsonValue]) -> list[str]:
    """The text of one document as a list of entries; joined by newlines, they are the output of `serialize`.

    There is one entry for each key of a mapping, and for each item of a list that is a scalar or empty. Any other
    item begins in the entry of its first child. Strings of several lines make entries of several lines. An empty
    document is the single entry `{}`.
    """
    if not isinstance(document, _MAPPINGS):
        raise TypeError(f"a document is a mapping, not {type(document).__name__}")
    if not document:
        return ["{}"]
    lines: list[str] = []
    add_mapping(document, "", "", lines)
    return lines


def serialize_json(documents: Iterable[Mapping[str, JsonValue]]) -> str:
    """Write documents as one Kubernetes `List` in indented JSON, ending with one newline.

    Raises ValueError for a lone surrogate, a NaN or an infinity, and TypeError for what JSON cannot represent.
    """
    bundle = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
    text = json.dumps(bundle, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    text.encode()  # `dumps` accepts a lone surrogate, which cannot be written to a file
    return text


def add_mapping(node: Mapping[str, JsonValue], lead: str, indent: str, lines: list[str]) -> None:
    """Append the entries of a non-empty mapping to `lines`, the first after `lead`, the others after `indent`."""
    deeper = indent + "  "
    for key, value in node.items():
        head = lead + key_text(key)
        if "\n" in head:
            head = head.replace("\n", "\n" + indent)
        lead = indent
        if isinstance(value, str):
            lines.append(f"{head} {string_text(value, deeper)}")
        elif not value or isinstance(value, _NUMBERS):
            lines.append(f"{head} {_short(value)}")
        elif isinstance(value, _SEQUENCES):
            lines.append(head)
            add_sequence(value, indent, indent, lines)
        else:
            lines.append(head)
            add_mapping(_mapping(value), deeper, deeper, lines)


def add_sequence(node: Sequence[JsonValue], lead: str, indent: str, lines: list[str]) -> None:
    """Append the items of a non-empty sequence to `lines`, the first after `lead`, the others after `indent`."""
    deeper = indent + "  "
    for value in node:
        if isinstance(value, str):
            lines.append(f"{lead}- {string_text(value, deeper)}")
        elif not value or isinstance(value, _NUMBERS):
            lines.append(f"{lead}- {_short(value)}")
        elif isinstance(value, _SEQUENCES):
            add_sequence(value, lead + "- ", deeper, lines)
        else:
            add_mapping(_mapping(value), lead + "- ", deeper, lines)
        lead = indent


def _mapping(value: object) -> Mapping[str, JsonValue]:
    """`value` itself; raises TypeError unless it is a mapping."""
    if isinstance(value, _MAPPINGS):
        return value
    raise TypeError(f"{type(value).__name__} is not a mapping or any other JSON-like data")


def _short(value: JsonValue) -> str:
    """A number, a boolean, a null or an empty collection as text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, _SEQUENCES):
        return "[]"
    _mapping(value)
    return "{}"


def string_text(value: str, indent: str) -> str:
    """A string as YAML, with the lines of a literal block after `indent`."""
    text = _cached_text(value) if len(value) <= _LONGEST_CACHED else _text(value)
    # Blank lines get no trailing spaces.
    return _FILLED_LINE_START.sub("\n" + indent, text) if "\n" in text else text


@lru_cache(maxsize=1024)
def key_text(key: str) -> str:
    """The key with its colon; the caller indents what follows a line break in it."""
    if not isinstance(key, str):
        raise TypeError(f"a key is a string, not {type(key).__name__}")
    written = _one_line(key)
    return f"{written}:" if len(written) <= _LONGEST_SIMPLE_KEY else f"? {written}\n:"


def _text(text: str) -> str:
    """A string as YAML; the caller indents the lines of a literal block."""
    if "\n" not in text or _UNFIT_ENDS.search(text) or not _is_printable(text.replace("\n", "")):
        return _one_line(text)
    return f"|\n{text[:-1]}" if text.endswith("\n") else f"|-\n{text}"


# Manifests repeat the same words: caching this and `key_text` cuts the time to a third.
_cached_text = lru_cache(maxsize=4096)(_text)


def _one_line(text: str) -> str:
    """A string as a plain scalar if that is unambiguous, else in double quotes."""
    if len(text) <= _LONGEST_PLAIN and _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    if text.isascii() and text.isprintable():
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return f'"{re.sub(_ESCAPED, _escape, text)}"'


def _is_printable(text: str) -> bool:
    """Whether nothing in it needs an escape; the pattern for all of Unicode is large, and seldom needed."""
    return text.isprintable() if text.isascii() else re.search(f"[{_UNPRINTABLE}]", text) is None


def _escape(match: re.Match[str]) -> str:
    """The escape of one character in double quotes. Raises ValueError for a lone surrogate."""
    character = match[0]
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    if "\ud800" <= character <= "\udfff":
        raise ValueError(f"a lone surrogate (U+{code:04X}) is not text and cannot be written")
    return f"\\u{code:04x}" if character <= "\uffff" else f"\\U{code:08x}"


def _float(value: float) -> str:
    """The shortest digits that parse to the same number. Raises ValueError for a NaN or an infinity."""
    digits = float.__repr__(value)
    if digits[-1] in "nf":
        raise ValueError(f"{digits} has no JSON spelling and cannot be written")
    mantissa, exponent_mark, exponent = digits.partition("e")
    # YAML 1.1 reads `1e+16` as a string and `1.0e+16` as a number.
    return digits if "." in mantissa else f"{mantissa}.0{exponent_mark}{exponent}"
