"""A faster `typing.NamedTuple`.

`typing.NamedTuple` compiles each annotation, and `collections.namedtuple` a function for each class, which together
took a fifth of a call. Nothing uses the annotations at run time, and the functions of classes with the same number of
fields differ only in names. Type checkers see `typing.NamedTuple`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  the alias makes it public
else:
    from collections import _tuplegetter, namedtuple
    from functools import cache
    from types import FunctionType

    # Entries that Python adds to a class body; they differ between versions.
    _ADDED = frozenset(("__annotations__", "__annotate_func__", "__classcell__", "__classdictcell__"))

    @cache
    def _constructor(size):  # noqa: ANN001, ANN202
        """The function that creates a named tuple with this many fields."""
        return namedtuple("Model", [f"field{number}" for number in range(size)]).__new__  # noqa: PYI024

    class _Record(type):
        def __new__(cls, name, bases, body):  # noqa: ANN001, ANN204, ARG004  as `type.__new__`
            # Since Python 3.14 the body has no annotations, so a class is created to read them.
            annotations = body.get("__annotations__")
            fields = tuple(type(name, (), body).__annotations__ if annotations is None else annotations)
            defaults = {field: body[field] for field in fields if field in body}
            model = _constructor(len(fields))
            code = model.__code__.replace(co_varnames=(model.__code__.co_varnames[0], *fields))
            entries = {
                "__doc__": f"{name}({', '.join(fields)})",
                **_METHODS,
                **body,
                **{field: _tuplegetter(number, "") for number, field in enumerate(fields)},
                "__new__": FunctionType(code, model.__globals__, "__new__", tuple(defaults.values())),
                "__slots__": (),
                "__match_args__": fields,
                "_fields": fields,
                "_field_defaults": defaults,
            }
            return type(name, (tuple,), {key: value for key, value in entries.items() if key not in _ADDED})

    def _make(cls, values):  # noqa: ANN001, ANN202
        """Make a record of the values."""
        record = tuple.__new__(cls, values)
        if len(record) != len(cls._fields):
            raise TypeError(f"expected {len(cls._fields)} values, got {len(record)}")
        return record

    def _replace(self, /, **changes):  # noqa: ANN001, ANN003, ANN202
        """The record with some fields replaced."""
        record = self._make(map(changes.pop, self._fields, self))
        if changes:
            raise TypeError(f"unknown fields: {', '.join(changes)}")
        return record

    def _asdict(self):  # noqa: ANN001, ANN202
        """The values by field."""
        return dict(zip(self._fields, self, strict=True))

    def _values(self):  # noqa: ANN001, ANN202
        return tuple(self)

    def _repr(self):  # noqa: ANN001, ANN202
        values = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({', '.join(values)})"

    _METHODS = {
        "_make": classmethod(_make),
        "_replace": _replace,
        "__replace__": _replace,
        "_asdict": _asdict,
        "__repr__": _repr,
        "__getnewargs__": _values,
    }

    NamedTuple = type.__new__(_Record, "NamedTuple", (), {})
