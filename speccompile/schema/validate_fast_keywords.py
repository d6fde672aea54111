"""Functions for the keywords of a JSON schema: each answers yes or no for one value.

Keywords about scalars get the plain value; those about a whole value, such as `required` or `if`, get its node. A
keyword that is not in the table _KNOWN raises UnknownKeywordError, and jsonschema decides instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.schema.formats.by_name import FORMATS, fitting
from speccompile.schema.library import Library, Schema

Accept: TypeAlias = Callable[[Node], Node | None]
"""Gives the node in canonical spelling, the same one if it was; None if anything is wrong with it."""
Holds: TypeAlias = Callable[[Any], bool]
"""Takes a value that is no container."""
Check: TypeAlias = Callable[[Any], bool]
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
BASES = (bool, int, float, str, tuple, dict, type(None))
"""The types that values have; bool before int, of which it is one to Python."""


class UnknownKeywordError(Exception):
    """A schema says what is not known here; nobody guesses what jsonschema would make of it."""


class Acceptors(NamedTuple):
    """The functions made so far of the schemas of one library; `make` makes one that is missing."""

    library: Library
    make: Callable[[Acceptors, Schema | None, tuple[Schema, ...]], Accept]
    made: dict[tuple[int, ...], Accept]
    """By the identities of schemas, which live as long as the library does."""

    def of(self, form: Schema | None, schemas: tuple[Schema, ...]) -> Accept:
        """What spells values as `form` says (None leaves them as they are) and checks them by all the schemas."""
        key = (id(form), *map(id, schemas))
        if key not in self.made:
            self.made[key] = self.make(self, form, schemas)
        return self.made[key]


def parts_of(schemas: tuple[Schema, ...], library: Library) -> Iterator[Schema]:
    """The schemas, and all that hold beside them for the same value."""
    for schema in schemas:
        _stop_at_unknown(schema, library)
        yield schema
        if "$ref" in schema:
            yield from parts_of((library.target(schema["$ref"]),), library)
        yield from parts_of(tuple(schema.get("allOf", ())), library)


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


def types_named(told: str | list[str]) -> frozenset[type]:
    """The Python types of what `type` names."""
    return frozenset().union(*(_KINDS[name] for name in ([told] if isinstance(told, str) else told)))


def refuse(_: Node) -> None:
    """Accept nothing."""


def checked(checks: tuple[Check, ...]) -> Accept:
    """Accept a node as it is if all checks hold."""

    def accepts(node: Node) -> Node | None:
        for check in checks:
            if not check(node):
                return None
        return node

    return accepts


# Scalars


def scalar_checks(parts: tuple[Schema, ...], kind: type) -> Iterator[Holds]:
    """The checks that the keywords of all parts make of a scalar."""
    for part in parts:
        for keyword in part:
            if (kind, keyword) in _HOLDS:
                yield _HOLDS[kind, keyword](part[keyword])


def _options(told: Any) -> Holds:
    return frozenset(told).__contains__


def _pattern(told: str) -> Holds:
    search = re.compile(told).search
    return lambda text: search(text) is not None


_TEXT: Mapping[str, Callable[[Any], Holds]] = {
    "minLength": lambda told: lambda text: len(text) >= told,
    "maxLength": lambda told: lambda text: len(text) <= told,
    "pattern": _pattern,
}
_NUMBER: Mapping[str, Callable[[Any], Holds]] = {
    # Not turned around: what is no number at all is neither less nor more.
    "minimum": lambda told: lambda number: not number < told,
    "maximum": lambda told: lambda number: not number > told,
}
_SCALAR: Mapping[str, Callable[[Any], Holds]] = {
    "enum": _options,
    "const": lambda told: _options((told,)),
    "format": fitting,
}
_HOLDS: Mapping[tuple[type, str], Callable[[Any], Holds]] = {
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


# Keywords about a whole value


def checks_of(acceptors: Acceptors, parts: tuple[Schema, ...], kind: type) -> Iterator[Check]:
    """The checks that the keywords of all parts make of a whole value of the type."""
    switches: dict[str, list[_Condition]] = {}
    for part in parts:
        for keyword in part:
            make = _CHECKS.get((kind, keyword)) or _CHECKS.get((object, keyword))
            if keyword == "if" and kind is dict and (condition := _condition(acceptors, part)):
                switches.setdefault(condition.key, []).append(condition)
            elif make is not None:
                yield make(acceptors, part, part[keyword])
    yield from map(_switch, switches.values())


def _required(_: Acceptors, __: Schema, told: Any) -> Check:
    keys = frozenset(told)
    return lambda node: node.value.keys() >= keys


def _names(acceptors: Acceptors, _: Schema, told: Any) -> Check:
    parts = tuple(parts_of((told,), acceptors.library))
    is_possible = all(str in types_named(part["type"]) for part in parts if "type" in part)
    if any(_CHECKS.keys() & {(str, keyword), (object, keyword)} for part in parts for keyword in part):
        raise UnknownKeywordError("propertyNames")
    holding = tuple(scalar_checks(parts, str))

    def holds(node: Any) -> bool:
        for key in node.value:
            for hold in holding:
                if not hold(key):
                    return False
        return is_possible or not node.value

    return holds


def _companions(_: Acceptors, __: Schema, told: Any) -> Check:
    return lambda node: all(
        other in node.value for key, others in told.items() if key in node.value for other in others
    )


def _dependents(acceptors: Acceptors, _: Schema, told: Any) -> Check:
    checks = tuple((key, acceptors.of(None, (schema,))) for key, schema in told.items())
    return lambda node: all(check(node) is not None for key, check in checks if key in node.value)


def _not(acceptors: Acceptors, _: Schema, told: Any) -> Check:
    accepts = acceptors.of(None, (told,))
    return lambda node: accepts(node) is None


def _if(acceptors: Acceptors, part: Schema, told: Any) -> Check:
    condition = acceptors.of(None, (told,))
    then, otherwise = _outcomes(acceptors, part)

    def holds(node: Node) -> bool:
        chosen = otherwise if condition(node) is None else then
        return chosen is None or chosen(node) is not None

    return holds


def _outcomes(acceptors: Acceptors, part: Schema) -> tuple[Accept | None, Accept | None]:
    """What accepts if the condition holds, and if not."""
    then, otherwise = (
        acceptors.of(None, (part[keyword],)) if keyword in part else None for keyword in ("then", "else")
    )
    return then, otherwise


class _Condition(NamedTuple):
    """What asks for the text behind one key, as most conditions do."""

    key: str
    options: frozenset[str]
    is_required: bool
    then: Accept | None
    otherwise: Accept | None


def _condition(acceptors: Acceptors, part: Schema) -> _Condition | None:
    told = part["if"]
    asked = tuple(told.get("properties", {}).items()) if isinstance(told, Mapping) else ()
    if len(asked) != 1 or not told.keys() <= {"properties", "required"}:
        return None
    ((key, schema),) = asked
    if told.get("required", [key]) != [key] or not isinstance(schema, Mapping) or schema.keys() not in _ONE_OF:
        return None
    _stop_at_unknown(schema, acceptors.library)
    options = frozenset(schema["enum"] if "enum" in schema else [schema["const"]])
    return _Condition(key, options, "required" in told, *_outcomes(acceptors, part))


_ONE_OF = ({"const"}, {"enum"})


def _switch(conditions: list[_Condition]) -> Check:
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


_Make: TypeAlias = Callable[[Acceptors, Schema, Any], Check]
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


# Known keywords


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
