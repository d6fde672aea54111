"""The fast validator accepts what jsonschema accepts and reports its errors, with the same spelling and positions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
from helpers.plain_data import paths
from hypothesis import event, given, settings
from hypothesis import strategies as st

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.documents.targets import targets_of
from speccompile.model.full_path import full_path
from speccompile.model.key_path import KeyPath
from speccompile.model.key_spelling import camel_case, snake_case
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.find_errors import AnyError, find_errors
from speccompile.schema.formats.by_name import FORMAT_CHECKS, format_check
from speccompile.schema.library import Library, Schema, Schemas
from speccompile.schema.validate import validate, validate_exactly
from speccompile.schema.validate_fast import accept, acceptor_for
from speccompile.schema.validate_fast_keywords import UnknownKeywordError
from speccompile.testing.strategies.documents import platforms, profiles, runs
from speccompile.testing.strategies.text import json_trees

LIBRARY = bundled_library()
SOURCE = Source("made.yaml", "", Layer.RUN)
HUGE = 10**30


class Unsure(str):
    """A text that becomes a node as a plain `1e3` does."""

    __slots__ = ()


def tree_of(data: Any) -> Node:
    """The data as a tree, each value on a separate line."""
    lines = count(1)

    def grown(value: Any) -> Node:
        span = Span(SOURCE, next(lines), 1)
        if isinstance(value, dict):
            fields = {key: grown(child) for key, child in value.items()}
            return Node({key: child.but(key=Span(SOURCE, next(lines), 2)) for key, child in fields.items()}, span)
        if isinstance(value, list):
            return Node(tuple(grown(item) for item in value), span)
        return Node(str(value) if isinstance(value, Unsure) else value, span, unsure=isinstance(value, Unsure))

    return grown(data)


def outline(tree: Node) -> list[tuple[KeyPath, object, Span, Span | None, bool]]:
    """All of a tree that counts, in its order."""
    return [
        (path, (type(node.value), node.value) if node.is_scalar else type(node.value), node.span, node.key, node.unsure)
        for path, node in tree.walk()
    ]


def holds_alike(root: Node, name: str, library: Library = LIBRARY) -> bool:
    """Whether both ways accept; fails unless they agree, with equal trees and findings."""
    quick = accept(root, name, library)
    with full_path():
        exact, findings = validate_exactly(root, name, library)
    conformed, explained = validate_exactly(root, name, library)
    assert conformed == exact
    # jsonschema visits additional properties in no fixed order.
    assert sorted(map(repr, explained)) == sorted(map(repr, findings))
    assert (quick is not None) == (not findings), findings
    if quick is not None:
        assert outline(quick) == outline(exact)
        assert quick == exact
        again = accept(quick, name, library)
        assert again is quick
    return quick is not None


# Documents by their schemas

TEXTS = (
    *(
        "a",
        "team-a",
        "x" * 300,
        "",
        "Exists",
        "In",
        "Gt",
        "v1",
        "batch/v1",
        "Job",
        "Run",
        "job",
        "NoExecute",
        "12",
        "é",
    ),
    *("1", "500m", "8Gi", "1e3", "0", "-1", "1.5", "/data", "/data/x", "a/b", "python:3.12", "ghcr.io/acme", "HF_HOME"),
    *("nvidia.com/gpu", "hugepages-2Mi", "cpu", "memory", "{name}", "{name}-{volume}", "{service_name}", "port-{port}"),
    *("{project}-secrets", "{label_prefix}/x", "@daily", "5 4 * * *", "container+job:run", "metadata.name", "\u202e"),
)
FITTING = {name: [text for text in TEXTS if check(text) is None] for name, check in FORMAT_CHECKS.items()}
UNUSUAL: list[Any] = [None, True, 0, 1, 1.0, -1, 0.5, HUGE, 1e308, "", "1", "a b", "\ud800", "x" * 5000, Unsure("1e3")]
UNUSUAL += [[], {}, [None], {"a": None}, {"name": "a"}, [{"name": "a"}], [[]], {"requests": 1}, {"": 0}]


ANY: Schema = {}
SPELLINGS: list[Callable[[str], str]] = [str, str, str, camel_case, snake_case]
STRATEGIES: dict[tuple[int, int], st.SearchStrategy[Any]] = {}
"""Strategies by the identity of their schema and by depth: making one takes longer than drawing from it."""


def by_schema(schema: Schema, depth: int = 5) -> st.SearchStrategy[Any]:
    """Values that the schema mostly has nothing against; conditions are not looked at."""
    key = (id(schema), depth)
    if key not in STRATEGIES:
        STRATEGIES[key] = _by_schema(LIBRARY.resolve(schema), depth)
    return STRATEGIES[key]


def _by_schema(schema: Schema, depth: int) -> st.SearchStrategy[Any]:
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema["enum"] if "enum" in schema else [schema["const"]])
    kinds = schema.get("type", ["string", "object", "array", "integer"])
    return st.one_of([_OF_KIND[kind](schema, depth) for kind in ([kinds] if isinstance(kinds, str) else kinds)])


def _texts(schema: Schema, _: int) -> st.SearchStrategy[Any]:
    texts = st.sampled_from(FITTING[schema["format"]] if "format" in schema else TEXTS)
    return texts if schema.get("format") != "quantity" else st.one_of(texts, st.just(Unsure("1e3")))


def _objects(schema: Schema, depth: int) -> st.SearchStrategy[Any]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", ANY)
    if depth <= 0:
        return st.just({})
    names = schema.get("propertyNames", {})
    keys = st.sampled_from(names.get("enum") or FITTING.get(names.get("format"), ["a", "b", "zone", "camelCase"]))

    @st.composite
    def drawn(draw: st.DrawFn) -> dict[str, Any]:
        chosen = draw(st.sets(st.sampled_from(sorted(properties)), max_size=3)) if properties else set()
        made = {}
        for key in draw(st.permutations([*chosen, *(set(schema.get("required", ())) - chosen)])):
            spelling = draw(st.sampled_from(SPELLINGS))
            made[spelling(key)] = draw(by_schema(properties.get(key, ANY), depth - 1))
        if isinstance(others, Mapping) and schema.get("unevaluatedProperties") is not False:
            more = draw(st.lists(keys, unique=True, max_size=2 if others or not properties else 1))
            made |= {key: draw(by_schema(others, depth - 1)) for key in more if key not in made}
        return made

    return drawn()


_OF_KIND: Mapping[str, Callable[[Schema, int], st.SearchStrategy[Any]]] = {
    "string": _texts,
    "number": lambda *_: st.sampled_from([0, 1, 2, 1.5, 100]),
    "integer": lambda *_: st.sampled_from([1, 2, 80, 1000]),
    "boolean": lambda *_: st.booleans(),
    "array": lambda schema, depth: (
        st.lists(by_schema(schema.get("items", ANY), depth - 1), max_size=2) if depth > 0 else st.just([])
    ),
    "object": _objects,
}


VALID: Mapping[str, st.SearchStrategy[Any]] = {
    "run": runs(),
    "profile": profiles(),
    "platform": platforms(),
}


VERSIONS = {kind: min(known) for target in targets_of(LIBRARY).values() for kind, known in target.bases.items()}
# What a pattern or a condition asks for is not drawn by chance.
FITTED: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "base": lambda data: {**data, "apiVersion": VERSIONS[data["kind"]]},
    "entity": lambda data: {**data, "kind": "container+job:run"},
}


def documents(name: str) -> st.SearchStrategy[Any]:
    written = by_schema(LIBRARY.schemas[name]).map(FITTED.get(name, lambda data: data))
    return st.one_of(VALID[name], written) if name in VALID else written


@st.composite
def mutated(draw: st.DrawFn, valid: st.SearchStrategy[Any]) -> Any:
    """Something valid with one thing in it changed."""
    data = deepcopy(draw(valid))
    path = draw(st.sampled_from(paths(data)))
    if not path:
        return draw(st.sampled_from(UNUSUAL))
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    last: Any = path[-1]
    change = draw(st.sampled_from(["replace", "remove", "rename", "add", "double", "null", "respell"]))
    event(change)
    if change == "remove":
        del inner[last]
    elif change == "double" and isinstance(inner, list):
        inner.append(deepcopy(inner[last]))
    elif change == "rename" and isinstance(inner, dict):
        inner[draw(st.sampled_from(TEXTS))] = inner.pop(last)
    elif change == "respell" and isinstance(inner, dict):
        inner[draw(st.sampled_from([camel_case, snake_case, str.upper]))(last)] = deepcopy(inner[last])
    elif change == "add" and isinstance(inner, dict):
        inner[draw(st.sampled_from(TEXTS))] = draw(st.one_of(st.sampled_from(UNUSUAL), json_trees()))
    else:
        inner[last] = None if change == "null" else draw(st.one_of(st.sampled_from(UNUSUAL), json_trees()))
    return data


@pytest.mark.parametrize("name", sorted(LIBRARY.schemas))
@given(st.data())
def test_whatever_is_written_both_ways_say_the_same(name: str, data: st.DataObject) -> None:
    drawn = data.draw(st.one_of(documents(name), mutated(documents(name))))
    event(f"{name} accepted: {holds_alike(tree_of(drawn), name)}")


@pytest.mark.parametrize("name", sorted(VALID))
@given(st.data())
def test_what_is_valid_is_accepted(name: str, data: st.DataObject) -> None:
    """Otherwise the property above would hold for a function that never accepts."""
    assert holds_alike(tree_of(data.draw(VALID[name])), name)


def test_a_keyword_of_the_schemas_is_a_known_one() -> None:
    """Every place of every schema is made ready for values of every type, which raises at what is unknown."""
    for name, whole in LIBRARY.schemas.items():
        for where, schema in _inner(whole, name):
            library = LIBRARY if schema is whole else Library({**LIBRARY.schemas, "made": schema}, {})
            for value in UNUSUAL:
                try:
                    acceptor_for(name if schema is whole else "made", library)(tree_of(value))
                except UnknownKeywordError as unknown:
                    pytest.fail(f"{where}: {unknown}")


def _inner(schema: Any, where: str) -> Iterator[tuple[str, Schema]]:
    """Every schema within a schema."""
    if not isinstance(schema, Mapping):
        return
    yield where, schema
    for keyword in ("items", "additionalProperties", "propertyNames", "not", "if", "then", "else"):
        yield from _inner(schema.get(keyword), f"{where}/{keyword}")
    for keyword in ("properties", "patternProperties", "dependentSchemas"):
        for key, child in schema.get(keyword, {}).items():
            yield from _inner(child, f"{where}/{key}")
    for index, child in enumerate(schema.get("allOf", ())):
        yield from _inner(child, f"{where}/allOf/{index}")
    for key, child in schema.get("$defs", {}).items():
        groups = child.items() if key == "volume_types" else ((key, child),)
        for name, one in groups:
            yield from _inner(one, f"{where}/$defs/{name}")


# Schemas of the same keywords

KEYS = ("a", "b", "c")
WORDS = ("a", "b", "ab", "", "1", "500m", "é")
SCALARS: tuple[Any, ...] = (*WORDS, 0, 1, 1.0, 2, -1, 0.5, HUGE, True, False)
SMALL = st.integers(0, 2)
_assertions: Mapping[str, st.SearchStrategy[Any]] = {
    "type": st.one_of(
        st.sampled_from(["string", "integer", "number", "boolean", "array", "object"]),
        st.lists(st.sampled_from(["string", "integer", "number", "null", "array", "object"]), min_size=1, unique=True),
    ),
    "enum": st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    "const": st.sampled_from(WORDS),
    "format": st.sampled_from(["quantity", "dns-label", "user-id", "whole-number"]),
    "pattern": st.sampled_from(["^a", "b$", "[0-9]", ""]),
    "minimum": SMALL,
    "maximum": SMALL,
    "minLength": SMALL,
    "maxLength": SMALL,
    "minItems": SMALL,
    "maxItems": SMALL,
    "minProperties": SMALL,
    "required": st.lists(st.sampled_from(KEYS), unique=True, max_size=2),
    "dependentRequired": st.dictionaries(
        st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), max_size=2), max_size=2
    ),
    "x-unread": st.booleans(),
}


def _applicators(depth: int) -> Mapping[str, st.SearchStrategy[Any]]:
    inner = schemas(depth - 1)
    by_key = st.dictionaries(st.sampled_from(KEYS), inner, min_size=1, max_size=3)
    return {
        "$ref": st.sampled_from(["made.schema.json#/$defs/one", "made.schema.json#/$defs/two"]),
        "items": inner,
        "properties": by_key,
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^b$", "."]), inner, min_size=1, max_size=2),
        "additionalProperties": st.one_of(st.booleans(), inner),
        "unevaluatedProperties": st.just(value=False),
        "propertyNames": inner,
        "dependentSchemas": by_key,
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
    }


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """Few keywords at a time: a schema of many accepts nothing."""
    known = {**_assertions, **(_applicators(depth) if depth else {})}
    names = [*_assertions, *(3 * [*(known.keys() - _assertions.keys())])]
    keywords = draw(st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=3, unique=True))
    return {keyword: draw(known[keyword]) for keyword in keywords}


leaves = schemas(0)
values = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)),
    max_leaves=6,
)


def is_accepted_by_both(schema: Mapping[str, Any], value: Any) -> bool | None:
    """Whether both accept, None if the schema is beyond the quick way; fails unless they agree."""
    library = made_library(**schema)
    try:
        is_accepted = acceptor_for("made", library)(tree_of(value)) is not None
    except UnknownKeywordError:
        return None
    errors = list(library.validator("made").iter_errors(value))
    assert is_accepted == (not errors)
    with suppress(UnknownKeywordError):  # in a part of the schema that was not reached above
        assert described(find_errors(value, library.schemas["made"], library)) == described(errors)
    return is_accepted


def described(errors: Iterable[AnyError]) -> list[str]:
    return sorted(
        repr(
            (
                *(error.validator, error.validator_value, error.instance, error.schema),
                *(list(error.absolute_path), list(error.relative_schema_path)),
            )
        )
        for error in errors
    )


def made_library(**schema: Any) -> Library:
    return Library({"made": {"$id": "https://speccompile.dev/schemas/made.schema.json", **schema}}, {})


@settings(max_examples=settings().max_examples * 4)
@given(schemas(), leaves, leaves, st.lists(values, min_size=5, max_size=5))
def test_a_schema_of_known_keywords_accepts_what_jsonschema_does(
    schema: dict[str, Any], one: dict[str, Any], two: dict[str, Any], drawn: list[Any]
) -> None:
    for value in drawn:
        event(f"accepted: {is_accepted_by_both({**schema, '$defs': {'one': one, 'two': two}}, value)}")


asking = st.one_of(
    st.fixed_dictionaries({"const": st.sampled_from(WORDS)}),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from(WORDS), min_size=1, max_size=2)}),
)
conditions = st.sampled_from(KEYS[:2]).flatmap(
    lambda key: st.fixed_dictionaries(
        {"properties": st.fixed_dictionaries({key: asking})}, optional={"required": st.just([key])}
    )
)
chosen = st.fixed_dictionaries({}, optional={"required": st.just(["c"]), "minProperties": st.just(2)})


@given(
    st.lists(
        st.fixed_dictionaries({"if": conditions}, optional={"then": chosen, "else": chosen}), min_size=1, max_size=3
    ),
    st.lists(
        st.one_of(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(SCALARS)), values), min_size=5, max_size=5
    ),
)
def test_conditions_on_the_text_of_a_key_choose_as_those_of_jsonschema(conditions: list[Any], drawn: list[Any]) -> None:
    for value in drawn:
        assert is_accepted_by_both({"allOf": conditions}, value) is not None


# Cases that hypothesis seldom finds


@pytest.mark.parametrize(
    ("schema", "value", "is_accepted"),
    [
        ({"propertyNames": {"type": "integer"}}, {}, True),
        ({"propertyNames": {"type": "integer"}}, {"a": 1}, False),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}, {"a": 1}, True),
        ({"patternProperties": {"a": {"type": "string"}}, "additionalProperties": False}, {"a": 1}, False),
        ({"enum": ["1"]}, 1, False),
        ({"const": "a"}, ["a"], False),
        ({"type": "number"}, True, False),
        ({"type": "integer"}, 1.0, False),
        ({"minimum": 1}, True, True),
        ({"minLength": 2}, [], True),
        ({"if": {"required": ["a"]}, "else": {"required": ["b"]}}, 1, True),
        ({"x-opaque": True, "items": {"type": "string"}}, [1], False),
    ],
    ids=str,
)
def test_a_keyword_is_about_what_jsonschema_says(schema: dict[str, Any], value: Any, is_accepted: bool) -> None:
    assert is_accepted_by_both(schema, value) is is_accepted


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"type": "string"}]},
        {"uniqueItems": True},
        {"type": "text"},
        {"enum": [1, "a"]},
        {"const": None},
        {"format": "email"},
        {"unevaluatedProperties": True},
        {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]},
        {"properties": {"a": {"$id": "https://example.com/other", "type": "string"}}},
        {"properties": {"a": True}},
        {"not": {"minContains": 1}},
    ],
    ids=json.dumps,
)
def test_nothing_is_guessed_about_what_is_not_known(schema: dict[str, Any]) -> None:
    assert accept(tree_of({"a": "x"}), "made", made_library(**schema)) is None


def test_a_tree_that_needs_no_change_comes_back_as_it_is() -> None:
    tree, _ = validate(
        tree_of({"action": "job", "name": "a", "envs": {"B": "2", "A": "1"}, "args": None}), "run", LIBRARY
    )
    assert accept(tree, "run", LIBRARY) is tree


def test_what_needs_no_change_is_kept_where_something_else_does() -> None:
    root = tree_of({"name": "a", "action": "job", "args": ["x"], "image": "a"})
    tree, _ = validate(root, "run", LIBRARY)
    assert list(tree.fields) == ["image", "args", "name", "action"]
    assert all(tree.fields[key] is root.fields[key] for key in tree.fields)


@pytest.mark.parametrize(
    ("data", "is_accepted"),
    [
        ({"resources": {"cpu": Unsure("1e3")}}, True),
        ({"replicas": Unsure("1e3")}, False),
        ({"args": [Unsure("1e3")]}, False),
        ({"envs": {"A": Unsure("1e3")}}, False),
        ({"parameters": {"a": [Unsure("1e3")]}}, False),
        ({"parameters": {"a": [None, {"z": 1, "a": None}]}}, True),
        ({"run_as_user": 1000.0}, False),
        ({"run_as_user": True}, False),
        ({"imagePullPolicy": "Always"}, True),
        ({"imagePullPolicy": "Always", "image_pull_policy": "Always"}, False),
        ({"imagePullPolicy": "Always", "image_pull_policy": None}, True),
        ({"secrets": ["A", "A"]}, False),
        ({"unknown": None}, False),
        ({"envs": {"A": None}}, True),
        ({"resources": {"requests": {"nvidia.com/gpu": "1.5"}}}, False),
        ({"resources": {"requests": {"nvidia.com/gpu": "1", "cpu": "1.5"}}}, True),
    ],
    ids=str,
)
def test_both_ways_say_the_same_of(data: dict[str, Any], is_accepted: bool) -> None:
    assert holds_alike(tree_of({"name": "a", "action": "job", **data}), "run") == is_accepted


@pytest.mark.parametrize(
    ("items", "is_accepted"),
    [
        ([1, True, 1.0, "1"], True),
        ([1, 2, 1], False),
        ([[1], [1], {"a": 1}, {"a": 1}], True),
        ([None, None], False),
    ],
    ids=str,
)
def test_unique_items_are_compared_by_type_too(items: list[Any], is_accepted: bool) -> None:
    library = made_library(**{"x-unique": True})
    assert holds_alike(tree_of(items), "made", library) == is_accepted


@pytest.mark.parametrize("value", [1, 1.0, True, "1"], ids=repr)
def test_a_cached_result_applies_to_values_of_the_same_type(value: Any) -> None:
    assert [format_check("user-id")(one) for one in (1, 1.0, True, "1")] == [True, False, True, True]
    assert format_check("user-id")(value) == (FORMAT_CHECKS["user-id"](value) is None)


def test_long_texts_are_not_cached() -> None:
    from speccompile.schema.formats.by_name import _has_format  # the cache is not visible elsewhere

    before = _has_format.cache_info().currsize
    assert not format_check("image")("a" * 10_000)
    assert _has_format.cache_info().currsize == before


HEAVY = {"jsonschema", "referencing", "attrs", "difflib", "fractions", "decimal", "dataclasses", "inspect"}


@pytest.mark.parametrize("mistakes", [{}, {"image": "Python", "gpus": "2", "replicas": "two", "mem": "7GB"}], ids=len)
def test_neither_accepting_nor_explaining_loads_jsonschema(mistakes: dict[str, str]) -> None:
    script = f"""
import sys
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.compiler.bundled_library import bundled_library
from speccompile.schema.validate import validate
span = Span(Source("run.yaml", "", Layer.RUN))
values = {{"name": "a", "action": "serve", "image": "python:3.12", "schedule": "@every 1h30m", **{mistakes!r}}}
fields = {{key: Node(value, span) for key, value in values.items()}}
fields["resources"] = Node({{"mem": Node("8Gi", span), "gpu": Node(1, span)}}, span)
_, findings = validate(Node(fields, span), "run", bundled_library())
assert len(findings) == {len(mistakes)}, findings
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} & HEAVY == set()


# The library that schemas come from


def test_a_schema_is_read_when_it_is_asked_for() -> None:
    texts = {"one": '{"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}}', "broken": "{"}
    library = Library(Schemas(texts), {})
    assert list(library.schemas) == ["one", "broken"]
    assert library.resolve(library.schemas["one"])["type"] == "string"
    assert library.schemas["one"] is library.schemas["one"]
    assert "two" not in library.schemas


def test_a_reference_within_a_file_can_be_followed_from_any_piece() -> None:
    library = Library(Schemas({"one": '{"items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"type": "string"}}}'}), {})
    assert library.schemas["one"]["items"] == {"$ref": "one.schema.json#/$defs/x"}
    assert library.resolve(library.schemas["one"]["items"]) == {"type": "string"}


@pytest.mark.parametrize("name", ["../pyproject.toml", "kubernetes/../kubernetes/_pod.j2", "kubernetes", "", "job.j2"])
def test_a_bundled_text_goes_by_its_one_name(name: str) -> None:
    assert name not in LIBRARY.templates
    assert LIBRARY.templates.get(name) is None


LIBRARIES = [
    Library({}, {}),
    Library({"a": {}}, {}),
    Library({"a": {"type": "string"}}, {}),
    Library({}, {"a": ""}),
    Library({}, {"a": "b"}),
    Library({}, {"ab": ""}),
    Library({}, {}, {"a": "b"}),
    Library({}, {"a": "b", "c": "d"}),
    Library({}, {"a": "b1:c1:d"}),
    Library(Schemas({"a": '{"type":  "string"}'}), {}),
    LIBRARY,
]


def test_a_digest_tells_libraries_apart() -> None:
    assert len({library.digest for library in LIBRARIES}) == len(LIBRARIES)


def test_a_digest_depends_on_no_order_and_on_no_process() -> None:
    one, other = Library({}, {"a": "1", "b": "2"}), Library({}, {"b": "2", "a": "1"})
    assert one.digest == other.digest
    script = "from speccompile.compiler.bundled_library import bundled_library; print(bundled_library().digest)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == LIBRARY.digest
