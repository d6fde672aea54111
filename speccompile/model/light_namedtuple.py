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
    _ADDED = frozenset(
        ("__module__", "__qualname__", "__annotations__", "__annotate_func__", "__classcell__", "__classdictcell__")
    )

    @cache
    def _model(size):  # noqa: ANN001, ANN202
        """A named tuple with this many fields, whose methods do not depend on their names."""
        return namedtuple("Model", [f"field{number}" for number in range(size)])  # noqa: PYI024

    class _Record(type):
        def __new__(cls, name, bases, body):  # noqa: ANN001, ANN204, ARG004  as `type.__new__`
            # Since Python 3.14 the body has no annotations, so a class is created to read them.
            annotations = body.get("__annotations__")
            fields = tuple(type(name, (), body).__annotations__ if annotations is None else annotations)
            defaults = {field: body[field] for field in fields if field in body}
            model = vars(_model(len(fields)))
            make = model["__new__"]
            code = make.__code__.replace(co_varnames=(make.__code__.co_varnames[0], *fields))
            return type(
                name,
                (tuple,),
                {
                    **{key: value for key, value in model.items() if key not in model["_fields"]},
                    **{field: _tuplegetter(number, "") for number, field in enumerate(fields)},
                    **{key: value for key, value in body.items() if key not in _ADDED and key not in fields},
                    "__new__": FunctionType(code, make.__globals__, "__new__", tuple(defaults.values())),
                    "__repr__": _shown,
                    "__module__": body["__module__"],
                    "__match_args__": fields,
                    "_fields": fields,
                    "_field_defaults": defaults,
                },
            )

    def _shown(self):  # noqa: ANN001, ANN202
        values = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({', '.join(values)})"

    NamedTuple = type.__new__(_Record, "NamedTuple", (), {})
