"""Check the runs of a shape, whose manifests differ only in the holes of its page.

A check that inspects no value in a hole has the same result for all runs of the shape. To find the others, each check
runs once on objects with values in their holes that cannot be inspected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock
from typing import Any, Final, NoReturn, TypeAlias

from speccompile.compiler.shapes.page import FilledPage, Template
from speccompile.schema.library import Schema
from speccompile.verify.fast_check import Accepts, own_checks

_MOST_KNOWN = 256
"""Values that are remembered for a hole."""
_Check: TypeAlias = Callable[[], bool]


class _InspectedError(BaseException):
    """A check inspects a value; not an `Exception`, so no check handles it."""


class _Opaque:
    """A value that is not empty; nothing else about it can be found out."""

    def _refuse(self, *_: object) -> NoReturn:
        raise _InspectedError

    __getattribute__ = __eq__ = __hash__ = __str__ = __repr__ = __format__ = _refuse


class _Hole:
    """A varying value: its places in the objects, and what it must satisfy on its own."""

    def __init__(self, template: Template, kind: Callable[[str], str | int]) -> None:
        self.template: Final = template
        self.number: Final = template[0] if len(template) == 1 and isinstance(template[0], int) else None
        """The number of its scalar; None if the scalar is a part of a longer text."""
        self.kind: Final = kind
        self.text: str | None = None
        """The valid value in the places, as text."""
        self.places: Final[list[tuple[Any, str | int]]] = []
        """Mappings and lists, each with a key or an index."""
        self.schemas: Final[dict[int, Schema]] = {}
        """By identity."""
        self.checks: Final[list[_Check]] = []
        """Checks of the value, and of mappings and lists in which nothing else varies."""
        self.known: Final[set[str]] = set()
        """Texts of values that satisfy these."""

    def put(self, value: object) -> None:
        for container, key in self.places:
            container[key] = value

    def fill(self, text: str) -> bool:
        """Put a value into the objects, and check it on its own."""
        self.text = None
        # Checks for missing values do not run again.
        if not text or (self.kind is int and not (text.isdecimal() and int(text))):
            return False
        self.put(self.kind(text))
        if text not in self.known and self.checks:
            if not all(check() for check in self.checks):
                return False
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            self.known.add(text)
        self.text = text
        return True


class PageCheck:
    """The checks that depend on the values of a run, for objects that are valid with the values of another one."""

    def __init__(self, objects: Iterable[tuple[Schema, dict[str, Any]]]) -> None:
        """The objects have markers for the values, which are replaced."""
        self._holes: Final[dict[tuple[Template, Any], _Hole]] = {}
        self._checks: Final[list[_Check]] = []
        """Checks of mappings and lists in which several values vary."""
        # The objects are filled for one run after the other.
        self._lock: Final = Lock()
        found: list[tuple[Schema, Any, set[_Hole]]] = []
        for schema, data in objects:
            self._find(schema, data, found)
        for hole in self._holes.values():
            container, key = hole.places[0]
            own = (check for schema in hole.schemas.values() for check in own_checks(schema))
            hole.checks.extend(_check_of_value(check, container, key) for check in own)
            hole.put(_Opaque())
        for schema, container, holes in found:
            checks = [partial(check, container) for check in own_checks(schema) if _inspects(check, container)]
            (next(iter(holes)).checks if len(holes) == 1 else self._checks).extend(checks)

    def _find(self, schema: Any, container: Any, found: list[tuple[Schema, Any, set[_Hole]]]) -> set[_Hole]:
        """Find the holes of a mapping or list, and add it and those below it that have any."""
        schema = {} if isinstance(schema, bool) else schema
        fields, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        is_list = isinstance(container, list)
        holes: set[_Hole] = set()
        for key, value in enumerate(container) if is_list else container.items():
            below = schema.get("items", {}) if is_list else fields.get(key, others)
            if type(value) in (dict, list):
                holes |= self._find(below, value, found)
            elif not isinstance(template := FilledPage.template(str(value)), str):
                identity = template, type(value)
                if identity not in self._holes:
                    self._holes[identity] = _Hole(*identity)
                hole = self._holes[identity]
                hole.places.append((container, key))
                if not isinstance(below, bool):
                    hole.schemas[id(below)] = below
                holes.add(hole)
        if holes:
            found.append((schema, container, holes))
        return holes

    def accepts(self, filled: FilledPage) -> bool:
        """Whether the values of a run are valid; False if in doubt."""
        values = filled.values
        with self._lock:
            for hole in self._holes.values():
                one = values[hole.number] if hole.number is not None else None
                text = one.text if one else filled.text(hole.template)
                if text != hole.text and not hole.fill(text):
                    return False
            return all(check() for check in self._checks)


def _check_of_value(check: Accepts, container: Any, key: str | int) -> _Check:
    return lambda: check(container[key])


def _inspects(check: Accepts, value: Any) -> bool:
    """Whether the check may depend on the opaque values in a mapping or list."""
    try:
        return not check(value)
    except (_InspectedError, TypeError):
        return True
