"""Takes a tree as written and the name of its schema, gives it in canonical spelling if nothing is wrong with it.

It says yes or no; `validate.py` has the exact way, which says why. Each schema becomes functions, made as values are
first met that need them: one call after the other both spells and checks what jsonschema would check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from speccompile.model.key_spelling import spelled
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.schema.formats.by_name import FORMATS, QUANTITIES, fitting
from speccompile.schema.library import Library, Schema

Accept: TypeAlias = Callable[[Node], Node | None]
"""Gives the node in canonical spelling, the same one if it was; None if anything is wrong with it."""
_Holds: TypeAlias = Callable[[Any], bool]
"""Takes a value that is no container."""
_Check: TypeAlias = Callable[[Any], bool]
"""Takes a node; of one that must be a mapping or a list, the value is read as such."""

_KINDS: Mapping[str, frozenset[type]] = {
    "string": frozenset({str}),
    "number": frozenset({int, float}),
    "integer": frozenset({int}),
    "boolean": frozenset({bool}),
    "array": frozenset({tuple}),
    "object": frozenset({dict}),
    "null": frozenset({type(None)}),
}
_BASES = (bool, int, float, str, tuple, dict, type(None))
"""The types that values have; bool before int, of which it is one to Python."""
_SCALARS = (str, int, float, bool)
_ANY: Schema = {}
_MOST_KEPT = 64
"""Schemas of libraries whose functions are kept; a process has one library, and tests have many."""


class UnknownKeywordError(Exception):
    """A schema says what is not known here; nobody guesses what jsonschema would make of it."""


def accept(root: Node, name: str, library: Library) -> Node | None:
    """The tree that `validate` gives, if it has no findings; None if it has any, or if the schema is beyond us."""
    try:
        return accepting(name, library)(root)
    except UnknownKeywordError:
        return None


@lru_cache(maxsize=_MOST_KEPT)
def accepting(name: str, library: Library) -> Accept:
    """What accepts trees of a schema; it raises at what it does not know, when a value is first met that needs it."""
    schema = library.schemas[name]
    return _accepting(_kept(library), schema, (schema,))


class _Kept(NamedTuple):
    library: Library
    made: dict[tuple[int, ...], Accept]
    """By the identities of schemas, which live as long as the library does."""


@lru_cache(maxsize=_MOST_KEPT)
def _kept(library: Library) -> _Kept:
    return _Kept(library, {})


def _accepting(kept: _Kept, form: Schema | None, schemas: tuple[Schema, ...]) -> Accept:
    """What spells values as `form` says (None leaves them as they are) and checks them by all the schemas."""
    key = (id(form), *map(id, schemas))
    if key not in kept.made:
        kept.made[key] = _make(kept, form, schemas)
    return kept.made[key]


def _make(kept: _Kept, form: Schema | None, schemas: tuple[Schema, ...]) -> Accept:
    parts = tuple(_parts(schemas, kept.library))
    told = None if form is None else kept.library.resolve(form)
    if told is not None and told.get("x-unread"):
        return _accepting(kept, None, schemas)
    if told is not None and told.get("x-opaque"):
        return _opaque(_accepting(kept, None, schemas))
    branches: dict[type, Accept] = {}

    def accepts(node: Node) -> Node | None:
        kind = type(node.value)
        branch = branches.get(kind)
        if branch is None:
            branch = branches[kind] = _branch(kept, told, parts, kind)
        return branch(node)

    return _directly(accepts, kept, parts)


def _parts(schemas: tuple[Schema, ...], library: Library) -> Iterator[Schema]:
    """The schemas, and all that hold beside them for the same value."""
    for schema in schemas:
        _stop_at_unknown(schema, library)
        yield schema
        if "$ref" in schema:
            yield from _parts((library.target(schema["$ref"]),), library)
        yield from _parts(tuple(schema.get("allOf", ())), library)


def _stop_at_unknown(schema: Schema, library: Library) -> None:
    if not isinstance(schema, Mapping):
        raise UnknownKeywordError
    for keyword, told in schema.items():
        if keyword.startswith("x-") or keyword in _SILENT:
            continue
        # An inner `$id` would change what references mean.
        is_known = library.schemas.get(_noun(told)) is schema if keyword == "$id" else _KNOWN.get(keyword, _never)(told)
        if not is_known:
            raise UnknownKeywordError(keyword)


def _noun(address: str) -> str:
    return address.rpartition("/")[2].partition(".")[0]


def _directly(accepts: Accept, kept: _Kept, parts: tuple[Schema, ...]) -> Accept:
    """The same, at once for values of the one type that is allowed, if it is but one: as most are."""
    kinds = frozenset(_BASES).intersection(*(_kinds(part["type"]) for part in parts if "type" in part))
    (kind, *others) = kinds or (object,)
    if others or kind not in _SCALARS or any(_checks(kept, parts, kind)):
        return accepts
    holds = tuple(_holding(parts, kind))

    def accepts_directly(node: Node) -> Node | None:
        value = node.value
        if type(value) is not kind or node.unsure:
            return accepts(node)
        for hold in holds:
            if not hold(value):
                return None
        return node

    return accepts_directly


def _opaque(accepts: Accept) -> Accept:
    """What is not read is no place for a scalar that has two meanings either."""
    return lambda node: None if any(inner.unsure for _, inner in node.walk()) else accepts(node)


def _branch(kept: _Kept, told: Schema | None, parts: tuple[Schema, ...], kind: type) -> Accept:
    """What accepts values of one type."""
    base = next(one for one in _BASES if issubclass(kind, one))
    if any("type" in part and base not in _kinds(part["type"]) for part in parts):
        return _refused
    if base is not tuple and base is not dict:
        return _scalar(kept, told, parts, base)
    if any("enum" in part or "const" in part for part in parts):
        return _refused
    checks = tuple(_checks(kept, parts, base))
    if base is tuple:
        return _listed(kept, told, parts, checks)
    if told is None:
        return _checked((*(_children_check(kept, part) for part in parts if not _CHILDREN.isdisjoint(part)), *checks))
    return _mapped(kept, told, parts, checks)


def _kinds(told: str | list[str]) -> frozenset[type]:
    return frozenset().union(*(_KINDS[name] for name in ([told] if isinstance(told, str) else told)))


def _refused(_: Node) -> None:
    return None


def _checked(checks: tuple[_Check, ...]) -> Accept:
    def accepts(node: Node) -> Node | None:
        for check in checks:
            if not check(node):
                return None
        return node

    return accepts


# Scalars


def _scalar(kept: _Kept, told: Schema | None, parts: tuple[Schema, ...], kind: type) -> Accept:
    is_strict = told is not None and told.get("format") not in QUANTITIES
    holds = tuple(_holding(parts, kind))
    checks = tuple(_checks(kept, parts, kind))

    def accepts(node: Node) -> Node | None:
        if is_strict and node.unsure:
            return None
        value = node.value
        for hold in holds:
            if not hold(value):
                return None
        return node

    if not checks:
        return accepts
    others = _checked(checks)
    return lambda node: None if accepts(node) is None else others(node)


def _holding(parts: tuple[Schema, ...], kind: type) -> Iterator[_Holds]:
    for part in parts:
        for keyword in part:
            if (kind, keyword) in _HOLDS:
                yield _HOLDS[kind, keyword](part[keyword])


def _options(told: Any) -> _Holds:
    return frozenset(told).__contains__


def _pattern(told: str) -> _Holds:
    search = re.compile(told).search
    return lambda text: search(text) is not None


_TEXT: Mapping[str, Callable[[Any], _Holds]] = {
    "minLength": lambda told: lambda text: len(text) >= told,
    "maxLength": lambda told: lambda text: len(text) <= told,
    "pattern": _pattern,
}
_NUMBER: Mapping[str, Callable[[Any], _Holds]] = {
    # Not turned around: what is no number at all is neither less nor more.
    "minimum": lambda told: lambda number: not number < told,
    "maximum": lambda told: lambda number: not number > told,
}
_SCALAR: Mapping[str, Callable[[Any], _Holds]] = {
    "enum": _options,
    "const": lambda told: _options((told,)),
    "format": fitting,
}
_HOLDS: Mapping[tuple[type, str], Callable[[Any], _Holds]] = {
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


# Lists


def _listed(kept: _Kept, told: Schema | None, parts: tuple[Schema, ...], checks: tuple[_Check, ...]) -> Accept:
    schemas = tuple(part["items"] for part in parts if "items" in part)
    if told is None and not schemas:
        return _checked(checks)
    item = _accepting(kept, None if told is None else told.get("items", _ANY), schemas)
    is_once = None if told is None else _once(told.get("x-unique", ()))

    def accepts(node: Node) -> Node | None:
        items: Any = node.value
        made: list[Node] = []
        is_same = True
        for one in items:
            done = item(one)
            if done is None:
                return None
            if done is not one:
                is_same = False
            made.append(done)
        if is_once is not None and not is_once(made):
            return None
        tree = node if is_same else node.with_value(tuple(made))
        for check in checks:
            if not check(tree):
                return None
        return tree

    return accepts


def _once(unique: Any) -> Callable[[list[Node]], bool] | None:
    """Whether no two items say the same where they must not."""
    keys = ("",) if unique is True else tuple(unique)
    if not keys:
        return None

    def is_once(items: list[Node]) -> bool:
        for key in keys:
            told = [item.fields.get(key) if key else item for item in items] if len(items) > 1 else ()
            values = [(type(one.value), one.value) for one in told if one is not None and one.is_scalar]
            if len(set(values)) < len(values):
                return False
        return True

    return is_once


# Mappings

_CHILDREN = frozenset({"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"})
_Way: TypeAlias = tuple[str, int, bool, Accept]
"""The canonical key, its place in the output, whether a null says nothing there, and what accepts the value."""


def _mapped(kept: _Kept, told: Schema, parts: tuple[Schema, ...], checks: tuple[_Check, ...]) -> Accept:
    properties: Mapping[str, Schema] = told.get("properties", {})
    way_to = _ways(kept, told, parts)
    ways: dict[str, _Way] = {}
    """Of keys that the schema knows, in all their spellings."""

    def accepts(node: Node) -> Node | None:
        told_fields: Any = node.value
        fields: dict[str, Node] = {}
        is_same = is_ordered = True
        last, before = -1, ""
        for written, child in told_fields.items():
            way = ways.get(written)
            if way is None:
                way = way_to(written)
                if way[0] in properties:
                    ways[written] = way
            key, place, may_be_null, accept_child = way
            if may_be_null and child.value is None:
                is_same = False
                continue
            made = accept_child(child)
            if made is None or key in fields:
                return None
            fields[key] = made
            if made is not child or key != written:
                is_same = False
            if place < last or (place == last and key < before):
                is_ordered = False
            last, before = place, key
        if not is_ordered:
            known = [key for key in properties if key in fields]
            fields = {key: fields[key] for key in (*known, *sorted(fields.keys() - properties.keys()))}
        tree = node if is_same and is_ordered else node.with_value(fields)
        for check in checks:
            if not check(tree):
                return None
        return tree

    return accepts


def _ways(kept: _Kept, told: Schema, parts: tuple[Schema, ...]) -> Callable[[str], _Way]:
    """What becomes of a key."""
    properties: Mapping[str, Schema] = told.get("properties", {})
    places = {key: place for place, key in enumerate(properties)}
    others = told.get("additionalProperties", {})
    form_of_others: Schema = others if isinstance(others, Mapping) else _ANY
    is_closed = False in (others, told.get("unevaluatedProperties"))
    children = tuple(_children(kept, part) for part in parts)

    def way_to(written: str) -> _Way:
        key = spelled(written, properties)
        schemas: list[Schema] = []
        for child in children:
            found = child(key)
            if found is None:
                return key, len(places), key in properties or not is_closed, _refused
            schemas += found
        accepts = _accepting(kept, properties.get(key) or form_of_others, tuple(schemas))
        return key, places.get(key, len(places)), key in properties or not is_closed, accepts

    if properties or any("properties" in part or "patternProperties" in part for part in parts):
        return way_to
    # All keys are alike.
    _, place, may_be_null, accepts = way_to("")
    return lambda written: (written, place, may_be_null, accepts)


def _children(kept: _Kept, part: Schema) -> Callable[[str], tuple[Schema, ...] | None]:
    """The schemas that one part has for the value of a key; None if there may be no such key."""
    properties: Mapping[str, Schema] = part.get("properties", {})
    patterns = [(re.compile(pattern), schema) for pattern, schema in part.get("patternProperties", {}).items()]
    others = part.get("additionalProperties", True)
    rest = (others,) if isinstance(others, Mapping) else () if others else None
    evaluated = frozenset(_evaluated(part, kept.library)) if "unevaluatedProperties" in part else None

    def schemas_of(key: str) -> tuple[Schema, ...] | None:
        if evaluated is not None and key not in evaluated:
            return None
        found = (properties[key],) if key in properties else ()
        if patterns:
            found += tuple(schema for pattern, schema in patterns if pattern.search(key))
        return found or rest

    return schemas_of


def _evaluated(part: Schema, library: Library) -> Iterator[str]:
    """The keys that a part knows, itself or by reference."""
    if not _EVALUATING.isdisjoint(part):
        raise UnknownKeywordError("unevaluatedProperties")
    yield from part.get("properties", ())
    if "$ref" in part:
        yield from _evaluated(library.target(part["$ref"]), library)


_EVALUATING = frozenset({"patternProperties", "additionalProperties", "allOf", "dependentSchemas", "if"})
"""Keywords that make other keys known too, which is not looked at here."""


def _children_check(kept: _Kept, part: Schema) -> _Check:
    """Whether all values of a mapping are as one part says, left as they are."""
    if _CHILDREN.isdisjoint(part.keys() - {"properties"}):
        known = tuple((key, _accepting(kept, None, (schema,))) for key, schema in part["properties"].items())
        return lambda node: not any(key in node.value and accepts(node.value[key]) is None for key, accepts in known)
    schemas_of = _children(kept, part)

    def all_hold(node: Any) -> bool:
        for key, child in node.value.items():
            schemas = schemas_of(key)
            if schemas is None or (schemas and _accepting(kept, None, schemas)(child) is None):
                return False
        return True

    return all_hold


# Keywords that look at a value as a whole


def _checks(kept: _Kept, parts: tuple[Schema, ...], kind: type) -> Iterator[_Check]:
    switches: dict[str, list[_Condition]] = {}
    for part in parts:
        for keyword in part:
            make = _CHECKS.get((kind, keyword)) or _CHECKS.get((object, keyword))
            if keyword == "if" and kind is dict and (condition := _condition(kept, part)):
                switches.setdefault(condition.key, []).append(condition)
            elif make is not None:
                yield make(kept, part, part[keyword])
    yield from map(_switch, switches.values())


def _required(_: _Kept, __: Schema, told: Any) -> _Check:
    keys = frozenset(told)
    return lambda node: node.value.keys() >= keys


def _names(kept: _Kept, _: Schema, told: Any) -> _Check:
    parts = tuple(_parts((told,), kept.library))
    is_possible = all(str in _kinds(part["type"]) for part in parts if "type" in part)
    if any(_CHECKS.keys() & {(str, keyword), (object, keyword)} for part in parts for keyword in part):
        raise UnknownKeywordError("propertyNames")
    holding = tuple(_holding(parts, str))

    def holds(node: Any) -> bool:
        for key in node.value:
            for hold in holding:
                if not hold(key):
                    return False
        return is_possible or not node.value

    return holds


def _companions(_: _Kept, __: Schema, told: Any) -> _Check:
    return lambda node: all(
        other in node.value for key, others in told.items() if key in node.value for other in others
    )


def _dependents(kept: _Kept, _: Schema, told: Any) -> _Check:
    checks = tuple((key, _accepting(kept, None, (schema,))) for key, schema in told.items())
    return lambda node: all(check(node) is not None for key, check in checks if key in node.value)


def _not(kept: _Kept, _: Schema, told: Any) -> _Check:
    accepts = _accepting(kept, None, (told,))
    return lambda node: accepts(node) is None


def _if(kept: _Kept, part: Schema, told: Any) -> _Check:
    condition = _accepting(kept, None, (told,))
    then, otherwise = _outcomes(kept, part)

    def holds(node: Node) -> bool:
        chosen = otherwise if condition(node) is None else then
        return chosen is None or chosen(node) is not None

    return holds


def _outcomes(kept: _Kept, part: Schema) -> tuple[Accept | None, Accept | None]:
    """What accepts if the condition holds, and if not."""
    then, otherwise = (
        _accepting(kept, None, (part[keyword],)) if keyword in part else None for keyword in ("then", "else")
    )
    return then, otherwise


class _Condition(NamedTuple):
    """What asks for the text behind one key, as most conditions do."""

    key: str
    options: frozenset[str]
    is_required: bool
    then: Accept | None
    otherwise: Accept | None


def _condition(kept: _Kept, part: Schema) -> _Condition | None:
    told = part["if"]
    asked = tuple(told.get("properties", {}).items()) if isinstance(told, Mapping) else ()
    if len(asked) != 1 or not told.keys() <= {"properties", "required"}:
        return None
    ((key, schema),) = asked
    if told.get("required", [key]) != [key] or not isinstance(schema, Mapping) or schema.keys() not in _ONE_OF:
        return None
    _stop_at_unknown(schema, kept.library)
    options = frozenset(schema["enum"] if "enum" in schema else [schema["const"]])
    return _Condition(key, options, "required" in told, *_outcomes(kept, part))


_ONE_OF = ({"const"}, {"enum"})


def _switch(conditions: list[_Condition]) -> _Check:
    """All conditions on one key at once, by the text behind it."""
    key = conditions[0].key
    by_text = {
        text: _those(one.then if text in one.options else one.otherwise for one in conditions)
        for text in frozenset().union(*(one.options for one in conditions))
    }
    at_others = _those(one.otherwise for one in conditions)
    at_none = _those(one.otherwise if one.is_required else one.then for one in conditions)

    def holds(node: Any) -> bool:
        child = node.value.get(key)
        if child is None:
            chosen = at_none
        else:
            chosen = by_text.get(child.value, at_others) if isinstance(child.value, str) else at_others
        return all(accepts(node) is not None for accepts in chosen)

    return holds


def _those(outcomes: Iterable[Accept | None]) -> tuple[Accept, ...]:
    return tuple(accepts for accepts in outcomes if accepts is not None)


_Make: TypeAlias = Callable[[_Kept, Schema, Any], _Check]
_CHECKS: Mapping[tuple[type, str], _Make] = {
    (object, "if"): _if,
    (object, "not"): _not,
    (tuple, "minItems"): lambda _, __, told: lambda node: len(node.value) >= told,
    (tuple, "maxItems"): lambda _, __, told: lambda node: len(node.value) <= told,
    (dict, "required"): _required,
    (dict, "minProperties"): lambda _, __, told: lambda node: len(node.value) >= told,
    (dict, "propertyNames"): _names,
    (dict, "dependentRequired"): _companions,
    (dict, "dependentSchemas"): _dependents,
}
"""By the type of the values that a keyword is about; `object` for all of them."""


# What is known


def _always(_: object) -> bool:
    return True


def _never(_: object) -> bool:
    return False


def _are_texts(told: object) -> bool:
    """Texts equal themselves alone; of other values it is not as plain."""
    return isinstance(told, list) and all(isinstance(one, str) for one in told)


_SILENT = frozenset({"$schema", "$defs", "$comment", "title", "description", "default", "examples"})
"""Keywords that hold a value to nothing."""
_KNOWN: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("$ref", "allOf", "items", "then", "else", *_TEXT, *_NUMBER), _always),
    **{keyword: _always for _, keyword in _CHECKS},
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties"), _always),
    "unevaluatedProperties": lambda told: told is False,
    "type": lambda told: _KINDS.keys() >= ({told} if isinstance(told, str) else set(told)),
    "enum": _are_texts,
    "const": lambda told: isinstance(told, str),
    "format": FORMATS.__contains__,
}
"""The keywords, and whether what a schema says behind them is known."""
