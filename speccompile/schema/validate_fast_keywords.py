"""Checks for the keywords of a JSON schema, each a function that accepts or rejects one value.

Keywords for scalars get the plain value; those for a whole value, such as `required` or `if`, get its node. A keyword
that is not in _SUPPORTED raises UnknownKeywordError, and jsonschema decides instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.schema.formats.by_name import FORMAT_CHECKS, format_check
from speccompile.schema.formats.safe_regex import matches_part
from speccompile.schema.library import Library, Schema

Acceptor: TypeAlias = Callable[[Node], Node | None]
"""Returns the node in canonical spelling (itself, if it already is), or None if the node is invalid."""
ScalarCheck: TypeAlias = Callable[[Any], bool]
"""Checks a plain value that is not a container."""
NodeCheck: TypeAlias = Callable[[Any], bool]
"""Checks a node; one for mappings or lists reads the node's value as such."""
_TYPES: Mapping[str, frozenset[type]] = {
    "string": frozenset({str}),
    "number": frozenset({int, float}),
    "integer": frozenset({int}),
    "boolean": frozenset({bool}),
    "array": frozenset({tuple}),
    "object": frozenset({dict}),
    "null": frozenset({type(None)}),
}
BASES = (bool, int, float, str, tuple, dict, type(None))
"""The types of values; bool comes before int, its base class."""


class UnknownKeywordError(Exception):
    """A schema uses a keyword that only jsonschema implements."""


class AcceptorCache(NamedTuple):
    """The acceptors built so far for the schemas of one library."""

    library: Library
    build: Callable[[AcceptorCache, Schema | None, tuple[Schema, ...]], Acceptor]
    acceptors: dict[tuple[int, ...], Acceptor]
    """By the identities of schemas, which live as long as the library does."""

    def get(self, form: Schema | None, schemas: tuple[Schema, ...]) -> Acceptor:
        """The acceptor that spells keys as in `form` (None leaves them as written) and checks all the schemas."""
        key = (id(form), *map(id, schemas))
        if key not in self.acceptors:
            self.acceptors[key] = self.build(self, form, schemas)
        return self.acceptors[key]


def applicable_schemas(schemas: tuple[Schema, ...], library: Library) -> Iterator[Schema]:
    """The schemas, and those that apply to the same value by `$ref` and `allOf`."""
    for schema in schemas:
        require_support(schema, library)
        yield schema
        if "$ref" in schema:
            yield from applicable_schemas((library.target(schema["$ref"]),), library)
        yield from applicable_schemas(tuple(schema.get("allOf", ())), library)


def require_support(schema: Schema, library: Library) -> None:
    """Raise UnknownKeywordError if the schema itself, not one inside it, has a keyword that is not supported."""
    if not isinstance(schema, Mapping):
        raise UnknownKeywordError
    for keyword, argument in schema.items():
        if keyword.startswith("x-") or keyword in _ANNOTATIONS:
            continue
        if keyword == "$id":
            # An inner `$id` would change what references mean.
            noun = argument.rpartition("/")[2].partition(".")[0]
            is_supported = library.schemas.get(noun) is schema
        else:
            is_supported = _SUPPORTED.get(keyword, _never)(argument)
        if not is_supported:
            raise UnknownKeywordError(keyword)


def python_types(names: str | list[str]) -> frozenset[type]:
    """The Python types for the argument of `type`."""
    return frozenset().union(*(_TYPES[name] for name in ([names] if isinstance(names, str) else names)))


def reject(_: Node) -> None:
    """Accept nothing."""


def accept_if(checks: tuple[NodeCheck, ...]) -> Acceptor:
    """The acceptor of nodes that pass all checks; it returns them unchanged."""

    def accepts(node: Node) -> Node | None:
        for check in checks:
            if not check(node):
                return None
        return node

    return accepts


# Scalars


def scalar_checks(parts: tuple[Schema, ...], kind: type) -> Iterator[ScalarCheck]:
    """The checks of a scalar of the type, one for each keyword of the parts."""
    for part in parts:
        for keyword in part:
            if (kind, keyword) in _SCALAR_CHECKS:
                yield _SCALAR_CHECKS[kind, keyword](part[keyword])


def _enum(options: Any) -> ScalarCheck:
    return frozenset(options).__contains__


def _pattern(expression: str) -> ScalarCheck:
    return lambda text: matches_part(expression, text)


_TEXT: Mapping[str, Callable[[Any], ScalarCheck]] = {
    "minLength": lambda bound: lambda text: len(text) >= bound,
    "maxLength": lambda bound: lambda text: len(text) <= bound,
    "pattern": _pattern,
}
_NUMBER: Mapping[str, Callable[[Any], ScalarCheck]] = {
    # jsonschema asks the same way round, which matters for NaN.
    "minimum": lambda bound: lambda number: not number < bound,
    "maximum": lambda bound: lambda number: not number > bound,
}
_SCALAR: Mapping[str, Callable[[Any], ScalarCheck]] = {
    "enum": _enum,
    "const": lambda value: _enum((value,)),
    "format": format_check,
}
_SCALAR_CHECKS: Mapping[tuple[type, str], Callable[[Any], ScalarCheck]] = {
    (kind, keyword): make
    for kind, table in (
        (str, {**_TEXT, **_SCALAR}),
        (int, {**_NUMBER, **_SCALAR}),
        (float, {**_NUMBER, **_SCALAR}),
        (bool, _SCALAR),
        (type(None), _SCALAR),
    )
    for keyword, make in table.items()
}


# Whole values


def node_checks(cache: AcceptorCache, parts: tuple[Schema, ...], kind: type) -> Iterator[NodeCheck]:
    """The checks of a whole value of the type, by the keywords of the parts."""
    switches: dict[str, list[_Condition]] = {}
    for part in parts:
        for keyword in part:
            make = _NODE_CHECKS.get((kind, keyword)) or _NODE_CHECKS.get((object, keyword))
            if keyword == "if" and kind is dict and (condition := _simple_condition(cache, part)):
                switches.setdefault(condition.key, []).append(condition)
            elif make is not None:
                yield make(cache, part, part[keyword])
    yield from map(_switch, switches.values())


def _required(_: AcceptorCache, __: Schema, names: Any) -> NodeCheck:
    keys = frozenset(names)
    return lambda node: node.value.keys() >= keys


def _property_names(cache: AcceptorCache, _: Schema, schema: Any) -> NodeCheck:
    parts = tuple(applicable_schemas((schema,), cache.library))
    allows_strings = all(str in python_types(part["type"]) for part in parts if "type" in part)
    if any(_NODE_CHECKS.keys() & {(str, keyword), (object, keyword)} for part in parts for keyword in part):
        raise UnknownKeywordError("propertyNames")
    checks = tuple(scalar_checks(parts, str))

    def passes(node: Any) -> bool:
        for key in node.value:
            for check in checks:
                if not check(key):
                    return False
        return allows_strings or not node.value

    return passes


def _dependent_required(_: AcceptorCache, __: Schema, companions: Any) -> NodeCheck:
    return lambda node: all(
        other in node.value for key, others in companions.items() if key in node.value for other in others
    )


def _dependent_schemas(cache: AcceptorCache, _: Schema, schemas: Any) -> NodeCheck:
    acceptors = tuple((key, cache.get(None, (schema,))) for key, schema in schemas.items())
    return lambda node: all(accepts(node) is not None for key, accepts in acceptors if key in node.value)


def _not(cache: AcceptorCache, _: Schema, schema: Any) -> NodeCheck:
    accepts = cache.get(None, (schema,))
    return lambda node: accepts(node) is None


def _if(cache: AcceptorCache, part: Schema, schema: Any) -> NodeCheck:
    condition = cache.get(None, (schema,))
    then, otherwise = _outcomes(cache, part)

    def passes(node: Node) -> bool:
        chosen = otherwise if condition(node) is None else then
        return chosen is None or chosen(node) is not None

    return passes


def _outcomes(cache: AcceptorCache, part: Schema) -> tuple[Acceptor | None, Acceptor | None]:
    """The acceptors for `then` and `else`."""
    then, otherwise = (cache.get(None, (part[keyword],)) if keyword in part else None for keyword in ("then", "else"))
    return then, otherwise


class _Condition(NamedTuple):
    """An `if` that compares the text of one key, as most do."""

    key: str
    options: frozenset[str]
    is_required: bool
    then: Acceptor | None
    otherwise: Acceptor | None


def _simple_condition(cache: AcceptorCache, part: Schema) -> _Condition | None:
    condition = part["if"]
    properties = tuple(condition.get("properties", {}).items()) if isinstance(condition, Mapping) else ()
    if len(properties) != 1 or not condition.keys() <= {"properties", "required"}:
        return None
    ((key, schema),) = properties
    if condition.get("required", [key]) != [key] or not isinstance(schema, Mapping) or schema.keys() not in _ONE_OF:
        return None
    require_support(schema, cache.library)
    options = frozenset(schema["enum"] if "enum" in schema else [schema["const"]])
    return _Condition(key, options, "required" in condition, *_outcomes(cache, part))


_ONE_OF = ({"const"}, {"enum"})


def _switch(conditions: list[_Condition]) -> NodeCheck:
    """One check for all conditions on a key, which looks up its text once."""
    key = conditions[0].key
    by_text = {
        text: _present(one.then if text in one.options else one.otherwise for one in conditions)
        for text in frozenset().union(*(one.options for one in conditions))
    }
    for_other_texts = _present(one.otherwise for one in conditions)
    if_absent = _present(one.otherwise if one.is_required else one.then for one in conditions)

    def passes(node: Any) -> bool:
        child = node.value.get(key)
        if child is None:
            chosen = if_absent
        else:
            chosen = by_text.get(child.value, for_other_texts) if isinstance(child.value, str) else for_other_texts
        return all(accepts(node) is not None for accepts in chosen)

    return passes


def _present(acceptors: Iterable[Acceptor | None]) -> tuple[Acceptor, ...]:
    return tuple(accepts for accepts in acceptors if accepts is not None)


_Make: TypeAlias = Callable[[AcceptorCache, Schema, Any], NodeCheck]
_NODE_CHECKS: Mapping[tuple[type, str], _Make] = {
    (object, "if"): _if,
    (object, "not"): _not,
    (tuple, "minItems"): lambda _, __, bound: lambda node: len(node.value) >= bound,
    (tuple, "maxItems"): lambda _, __, bound: lambda node: len(node.value) <= bound,
    (dict, "required"): _required,
    (dict, "minProperties"): lambda _, __, bound: lambda node: len(node.value) >= bound,
    (dict, "propertyNames"): _property_names,
    (dict, "dependentRequired"): _dependent_required,
    (dict, "dependentSchemas"): _dependent_schemas,
}
"""By type and keyword; `object` is every type."""


# Supported keywords


def _always(_: object) -> bool:
    return True


def _never(_: object) -> bool:
    return False


def _are_strings(options: object) -> bool:
    """Whether Python and JSON Schema compare the options alike; they do for strings, but not for 1, 1.0 and true."""
    return isinstance(options, list) and all(isinstance(one, str) for one in options)


_ANNOTATIONS = frozenset({"$schema", "$defs", "$comment", "title", "description", "default", "examples"})
"""Keywords that check nothing."""
_SUPPORTED: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("$ref", "allOf", "items", "then", "else", *_TEXT, *_NUMBER), _always),
    **{keyword: _always for _, keyword in _NODE_CHECKS},
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties"), _always),
    "unevaluatedProperties": lambda schema: schema is False,
    "type": lambda names: _TYPES.keys() >= ({names} if isinstance(names, str) else set(names)),
    "enum": _are_strings,
    "const": lambda value: isinstance(value, str),
    "format": FORMAT_CHECKS.__contains__,
}
"""The supported keywords, and whether an argument of one is supported."""
