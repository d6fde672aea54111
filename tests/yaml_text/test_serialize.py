"""The canonical writer: exact text of examples, and properties that every reader gets the data back."""

import itertools
import json
import sys
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from helpers.yaml_readers import READERS
from hypothesis import example, given, settings
from hypothesis import strategies as st

from speccompile.yaml_text import serialize as module
from speccompile.yaml_text.serialize import JsonValue, serialize, serialize_json

Writer = Callable[[list[Any]], str]


def exactly(value: Any) -> Any:
    """A form that is equal only for equal data of equal types in equal order."""
    if isinstance(value, dict):
        return ("dict", [(exactly(key), exactly(inner)) for key, inner in value.items()])
    if isinstance(value, list):
        return ("list", [exactly(inner) for inner in value])
    return (type(value).__name__, repr(value))


def written_value(value: JsonValue) -> str:
    """What `serialize` writes after `k: `."""
    return serialize([{"k": value}]).removeprefix("k: ").removesuffix("\n")


def assert_every_reader_agrees(documents: list[dict[str, Any]]) -> None:
    text = serialize(documents)
    for name, read in READERS.items():
        assert exactly(read(text)) == exactly(documents), f"{name} reads {text!r}"


LAYOUTS: dict[str, tuple[list[Any], str]] = {
    "no documents": ([], ""),
    "an empty document": ([{}], "{}\n"),
    "keys keep their order": ([{"b": 1, "a": 2}], "b: 1\na: 2\n"),
    "documents are separated": ([{"a": 1}, {}, {"b": 2}], "a: 1\n---\n{}\n---\nb: 2\n"),
    "small scalars": (
        [{"null": None, "yes": True, "no": False, "int": -7, "float": 0.5, "text": "", "map": {}, "e": []}],
        '"null": null\n"yes": true\n"no": false\nint: -7\nfloat: 0.5\ntext: ""\nmap: {}\ne: []\n',
    ),
    "nested mappings": ([{"a": {"b": {"c": 1}, "d": 2}}], "a:\n  b:\n    c: 1\n  d: 2\n"),
    "a list starts at its key's column": (
        [{"containers": [{"name": "main", "args": ["a", "b"], "env": []}, {"name": "side"}]}],
        "containers:\n- name: main\n  args:\n  - a\n  - b\n  env: []\n- name: side\n",
    ),
    "lists in lists": (
        [{"k": [["a", ["b", "c"]], [], [[]], [{"d": 1, "e": [2]}]]}],
        "k:\n- - a\n  - - b\n    - c\n- []\n- - []\n- - d: 1\n    e:\n    - 2\n",
    ),
    "a mapping in a list opens with a collection": (
        [{"k": [{"a": {"b": 1}, "c": 2}, {"d": [3], "e": {}}, {}]}],
        "k:\n- a:\n    b: 1\n  c: 2\n- d:\n  - 3\n  e: {}\n- {}\n",
    ),
    "tuples are lists": ([{"k": (1, ()), "e": ()}], "k:\n- 1\n- []\ne: []\n"),
    "any mapping is a mapping": (
        [MappingProxyType({"k": OrderedDict(a=MappingProxyType({})), "l": [MappingProxyType({"b": 1})]})],
        "k:\n  a: {}\nl:\n- b: 1\n",
    ),
    "a script": (
        [{"data": {"run.sh": '#!/bin/sh\n\nexec "$@"\n', "note": "a: b\n  - c"}, "last": 1}],
        'data:\n  run.sh: |\n    #!/bin/sh\n\n    exec "$@"\n  note: |-\n    a: b\n      - c\nlast: 1\n',
    ),
    "blocks in lists": (
        [{"k": ["a\nb", ["c\nd\n"], {"e": "f\ng"}]}],
        "k:\n- |-\n  a\n  b\n- - |\n    c\n    d\n- e: |-\n    f\n    g\n",
    ),
    "document markers in a block": ([{"k": "a\n---\n...\n"}], "k: |\n  a\n  ---\n  ...\n"),
    "quoted keys": ([{"a: b": 1, "8080": 2, "": 3, "c\nd": 4}], '"a: b": 1\n"8080": 2\n"": 3\n"c\\nd": 4\n'),
    "a key too long to be simple": (
        [{"m": {"k" * 1001: {"a": 1}, "l": [{"x" * 1001: [2], "b": 3}]}}],
        f'm:\n  ? "{"k" * 1001}"\n  :\n    a: 1\n  l:\n  - ? "{"x" * 1001}"\n    :\n    - 2\n    b: 3\n',
    ),
}


@pytest.mark.parametrize(("documents", "text"), LAYOUTS.values(), ids=LAYOUTS)
def test_layout(documents: list[dict[str, Any]], text: str) -> None:
    assert serialize(documents) == text


@pytest.mark.parametrize(("documents", "text"), LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_reads_the_layout(documents: list[dict[str, Any]], text: str, reader: str) -> None:
    plain = json.loads(json.dumps(documents, default=dict))
    assert exactly(READERS[reader](text)) == exactly(plain)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "main",
        "Never",
        "app.kubernetes.io/name",
        "nvidia.com/gpu",
        "batch/v1",
        "NCCL_DEBUG",
        "python:3.12",
        "ghcr.io/a/b:v1@sha256:9f86d081",
        "localhost:5000/a",
        "https://example.com/a/b",
        "s3://bucket/key",
        "system:serviceaccount:ml:train",
        "/data/out",
        "./run.sh",
        "../x",
        "-c",
        "--lr=0.1",
        "--mesh=data:8,model:2",
        "user@example.com",
        "a=b",
        "g++",
        "python -m train --epochs 3",
        "a - b",
        "8Gi",
        "1.5Gi",
        "500m",
        "100k",
        "30s",
        "250ms",
        "0h",
        "e3",
        "E1",
        "nan",
        "Infinity",
        "yesterday",
        "nullable",
        "x" * 999,
    ],
)
def test_left_plain(text: str) -> None:
    assert written_value(text) == text
    assert serialize([{text: 1}]) == f"{text}: 1\n"
    assert_every_reader_agrees([{text: [text]}])


TRICKY = [
    *("", " ", "  ", " a", "a ", "a  b", "~", "=", "<<"),
    *("-", "--", "---", "...", "?", ":", ",", "|", ">", "|-"),
    *("y", "Y", "n", "N", "yes", "Yes", "YES", "yEs"),
    *("no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"),
    *("true", "True", "TRUE", "tRUE", "false", "False", "FALSE", "null", "Null", "NULL", "nULL"),
    *("0", "1", "-1", "+1", "012", "0o7", "08"),
    *("0b1", "0x1f", "0xdeadbeef", "1_000", "_1", "1_", "_", "1,000"),
    *("1.", ".5", "1.5", "-1.5", "1e3", "1E3", "12e5", "1e+3", "1.0e+3", "1.e3", "1e", "1E", "+.5", "1.2.3"),
    *(".inf", "-.inf", "+.Inf", ".INF", ".nan", ".NaN", ".NAN", ".", "..", ".a", "._1"),
    *("1:30", "190:20:30", "1:30.5"),
    *("8080:80", "2020-01-01", "2020-01-01T00:00:00Z", "2001-12-14 21:59:43.10 -5"),
    *("- a", "-\ta", "? a", "a: b", "a:", "a :b", "a: "),
    *(": a", "a #b", "#", "#a", "a#", "a # b", "-- a", "---a", "-1m"),
    *("{{ x }}", "{}", "{a: b}", "[]", "[a]", "]", "}"),
    *("%", "%YAML 1.2", "@", "@a", "`", "`a", "!", "!!str a"),
    *("&a", "*a", "'", "'a'", '"', '"a"', "\\", "\\n"),
    *("a\\", "it's", "$(X)", "a;b", "a*", "a&&b", "a\tb", "\ta"),
    *("\n", "\n\n", "a\n\n", "\na", " a\nb", "a \nb"),
    *("a\n ", "a\n b ", "a\n \nb", "a\n\tb", "a\rb", "a\r\nb"),
    *("a\x85b", "a\u2028b", "a\u2029b", "\ufeffa", "a\nb\ufeff", "a\x00", "\x07", "\x1b[31m", "\x7f", "\x9b"),
    *("\xa0", "a\xadb", "\u200b", "\u202eevil", "a\n\u2066b"),
    *("\u3000", "\ue000", "\ufffe", "\uffff", "\U000e0041"),
    *("é", "日本", "😀", "ß.io/x", "١٢", "１", "x" * 1000, "\U0003fffe", "\U0010ffff"),
]

# These are blocks or more than one word, but hard to read back all the same.
TRICKY_BUT_UNQUOTED = [
    *("a\nb", "a\n", "a\n\nb", "a\n\n\n  b\n", "---\n"),
    *("...\na", "# a\n", "#\n#", "- a\n- b\n", "a: b\n c: d"),
    *("|\n", ">\n|", "%a\n", "yes\n", "null\n\nnull", "{\n}\n", '"\n"', "a\\\n", "{{ x }}\n", "é\n😀", "'\n"),
    *("a b", "yes no", "no 1", "null null", "a 1e3", "a -", "a ---", "a ...", "a ="),
    *("a:b", "a:1:30", "a:/", "a:.", "--a", "-y", "--no", "-e3"),
    *("-inf", "/", "//", "./", "0m", "1m", "1n", "1Ei"),
]


@pytest.mark.parametrize("text", TRICKY)
def test_must_be_quoted(text: str) -> None:
    written = written_value(text)
    assert written[0] == written[-1] == '"'
    assert "\n" not in written
    assert_every_reader_agrees([{text: text, "list": [text, [text]]}])


@pytest.mark.parametrize("text", TRICKY_BUT_UNQUOTED)
def test_needs_no_quotes(text: str) -> None:
    assert written_value(text)[0] != '"'
    assert_every_reader_agrees([{text: text, "list": [text, [text]]}])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('say "hi"\\', r'"say \"hi\"\\"'),
        ("\b\t\n\f\r ", r'"\b\t\n\f\r "'),
        ("\x00\x1b\x7f\x85\xa0", r'"\u0000\u001b\u007f\u0085\u00a0"'),
        ("\u2028\u2029\ufeff", r'"\u2028\u2029\ufeff"'),
        ("a\u202eb", r'"a\u202eb"'),
        ("\U000e0041", r'"\U000e0041"'),
        ("naïve 日本 😀", '"naïve 日本 😀"'),
        ("a/b?", '"a/b?"'),
    ],
)
def test_escapes(text: str, written: str) -> None:
    assert written_value(text) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.1, "0.1"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (1e16, "1.0e+16"),
        (-1e16, "-1.0e+16"),
        (1e-5, "1.0e-05"),
        (1.5e-7, "1.5e-07"),
        (5e-324, "5.0e-324"),
        (sys.float_info.max, "1.7976931348623157e+308"),
        (10**30, "1" + "0" * 30),
        (-(2**63), "-9223372036854775808"),
        (0, "0"),
    ],
)
def test_numbers(value: Any, written: str) -> None:
    assert written_value(value) == written
    assert_every_reader_agrees([{"k": value}])


def test_subclasses_are_written_as_their_plain_kind() -> None:
    text = type("Text", (str,), {})("yes")
    number = type("Number", (int,), {"__repr__": lambda _: "odd"})(3)
    ratio = type("Ratio", (float,), {"__repr__": lambda _: "odd"})(0.5)
    assert serialize([{text: [text, number, ratio]}]) == '"yes":\n- "yes"\n- 3\n- 0.5\n'


def test_equal_numbers_of_different_types_stay_apart() -> None:
    expected = "k:\n- 1\n- true\n- 1.0\n- 0\n- false\n- 0.0\n"
    assert serialize([{"k": [1, True, 1.0, 0, False, 0.0]}]) == expected


@pytest.mark.parametrize("write", [serialize, serialize_json])
@pytest.mark.parametrize(
    "document",
    [
        {"k": float("nan")},
        {"k": float("inf")},
        {"k": [float("-inf")]},
        {"k": "\ud800"},
        {"k": "a\n\udfff\n"},
        {"k": "x" * 300 + "\udc00"},
        {"\ud83d": 1},
    ],
)
def test_values_that_no_reader_accepts_are_refused(write: Writer, document: Any) -> None:
    with pytest.raises(ValueError, match=r"surrogate|nan|inf"):
        write([document])


@pytest.mark.parametrize("value", [b"", b"a", {1}, set(), object(), 1j, range(2)])
def test_anything_not_json_like_is_refused(value: Any) -> None:
    name = type(value).__name__
    with pytest.raises(TypeError, match=f"^{name} is not a mapping"):
        serialize([{"k": value}])
    with pytest.raises(TypeError, match=f"^{name} is not a mapping"):
        serialize([{"k": [value]}])


@pytest.mark.parametrize("key", [1, True, None, 1.5, ("a",)])
def test_a_key_that_is_not_a_string_is_refused(key: Any) -> None:
    with pytest.raises(TypeError, match="a key is a string"):
        serialize([{"k": {key: 1}}])


@pytest.mark.parametrize("document", [[], ["a"], "a", None, 1])
def test_a_document_that_is_not_a_mapping_is_refused(document: Any) -> None:
    with pytest.raises(TypeError, match="a document is a mapping"):
        serialize([document])


def test_any_iterable_of_documents_is_accepted() -> None:
    assert serialize({"k": number} for number in (1, 2)) == "k: 1\n---\nk: 2\n"
    assert json.loads(serialize_json({"k": number} for number in (1, 2)))["items"] == [{"k": 1}, {"k": 2}]


@pytest.mark.parametrize(
    ("wrap", "levels"),
    [(lambda inner: {"k": inner}, 200), (lambda inner: [inner], 200), (lambda inner: [{"k": inner}], 100)],
    ids=["mappings", "lists", "both"],
)
def test_depth_200(wrap: Callable[[Any], Any], levels: int) -> None:
    value: Any = "bottom"
    for _ in range(levels):
        value = wrap(value)
    documents = [{"top": value}]
    assert yaml.safe_load(serialize(documents)) == {"top": value}
    assert json.loads(serialize_json(documents))["items"] == documents


def test_long_strings_are_not_cached() -> None:
    module._cached_text.cache_clear()
    serialize([{"k": "x" * 200}])
    assert module._cached_text.cache_info().currsize == 1
    serialize([{"k": ["y" * 201, "z\n" * 1000]}])
    assert module._cached_text.cache_info().currsize == 1


# Properties -------------------------------------------------------------------------------------------------

FRAGMENTS = st.sampled_from([*TRICKY, *TRICKY_BUT_UNQUOTED])
TEXT = st.one_of(
    FRAGMENTS,
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text("yn01.:e+-_xob #'\"\\\n\t{}[],&*!|>%@`~=<?/", max_size=12),
    st.lists(FRAGMENTS, max_size=4).map("\n".join),
    st.lists(FRAGMENTS, max_size=3).map(" ".join),
    st.from_regex(module._PLAIN, fullmatch=True),
)
SCALARS = st.one_of(TEXT, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)
STREAMS = st.lists(st.dictionaries(TEXT, TREES, max_size=4), max_size=3)


@settings(max_examples=300, deadline=None)
@given(STREAMS)
@example([{"k": TRICKY}, {text: index for index, text in enumerate(TRICKY)}])
@example([{"k": TRICKY_BUT_UNQUOTED}, dict.fromkeys(TRICKY_BUT_UNQUOTED)])
@example([{"x" * 2000: {"y" * 2000: [{"z" * 2000: "a\nb"}]}}])
def test_every_reader_gets_the_same_data_back(documents: list[dict[str, Any]]) -> None:
    assert_every_reader_agrees(documents)


@settings(max_examples=500, deadline=None)
@given(TEXT)
def test_every_reader_gets_the_same_string_back(text: str) -> None:
    assert_every_reader_agrees([{text: text, "list": [text, [text, {text: text}]]}])


def short_strings() -> Iterator[str]:
    for length in (1, 2, 3):
        yield from map("".join, itertools.product("01eExob_.:-+nyif/=,@ KM", repeat=length))


@pytest.mark.parametrize("reader", READERS)
def test_no_short_string_left_plain_means_anything_else(reader: str) -> None:
    plain = [text for text in short_strings() if written_value(text) == text]
    assert 1000 < len(plain) < 12000
    assert exactly(READERS[reader](serialize([{"k": plain}]))) == exactly([{"k": plain}])


@settings(deadline=None)
@given(STREAMS)
def test_the_text_is_canonical(documents: list[dict[str, Any]]) -> None:
    text = serialize(documents)
    for cache in (module.key_text, module._cached_text):
        cache.cache_clear()
    assert serialize(documents) == text
    assert serialize(READERS["pyyaml"](text)) == text


@settings(deadline=None)
@given(STREAMS)
def test_the_text_is_tidy(documents: list[dict[str, Any]]) -> None:
    text = serialize(documents)
    text.encode()
    lines = text.split("\n")
    assert lines.pop() == ""
    assert not documents or lines[-1] != ""
    assert lines.count("---") == max(len(documents) - 1, 0)
    assert not [line for line in lines if line != line.rstrip()]
    assert not [line for line in lines if line.startswith(("...", "%", "#", "&", "*", "!"))]
    hidden = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp", "Zs"}
    assert {char for char in text if unicodedata.category(char) in hidden} <= {" ", "\n"}


def test_every_hidden_character_is_escaped_and_every_visible_one_is_not() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    raw = set(written_value("".join(characters)))
    hidden = {"Cc", "Cf", "Co", "Zl", "Zp", "Zs"}
    visible = {char for char in characters if unicodedata.category(char) not in {*hidden, "Cn"}}
    assert {char for char in raw if unicodedata.category(char) in hidden} == {" "}
    # Variation selectors beyond the first sixteen hide in plain sight.
    assert {char for char in visible - raw if char < "\U000e0100" or char > "\U000e01ef"} == set()


@pytest.mark.parametrize("reader", READERS)
def test_characters_around_every_edge_read_back(reader: str) -> None:
    codes = [*range(0x3100), *range(0xD700, 0xD800), *range(0xE000, 0xE010), *range(0xF8F0, 0x10100)]
    text = "".join(map(chr, codes))
    assert READERS[reader](serialize([{"k": text}])) == [{"k": text}]


def test_json_is_an_indented_list() -> None:
    assert serialize_json([]) == '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": []\n}\n'
    assert serialize_json([{"b": "é😀", "a": (1, None)}]) == (
        '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n    {\n'
        '      "b": "é😀",\n      "a": [\n        1,\n        null\n      ]\n    }\n  ]\n}\n'
    )


@given(STREAMS)
def test_json_reads_back(documents: list[dict[str, Any]]) -> None:
    text = serialize_json(documents)
    text.encode()
    assert exactly(json.loads(text)) == exactly({"apiVersion": "v1", "kind": "List", "items": documents})
