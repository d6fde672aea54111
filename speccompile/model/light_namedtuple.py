"""A faster `typing.NamedTuple`.

`typing.NamedTuple` compiles each annotation, which took 18 milliseconds, a fifth of a call, and nothing uses them at
run time. Type checkers see `typing.NamedTuple`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  the alias makes it public
else:
    from collections import namedtuple

    # Entries that Python adds to a class body; they differ between versions.
    _ADDED = frozenset(
        ("__module__", "__qualname__", "__annotations__", "__annotate_func__", "__classcell__", "__classdictcell__")
    )

    class _Record(type):
        def __new__(cls, name, bases, body):  # noqa: ANN001, ANN204, ARG004  as `type.__new__`
            # Since Python 3.14 the body has no annotations, so a class is created to read them.
            annotations = body.get("__annotations__")
            fields = tuple(type(name, (), body).__annotations__ if annotations is None else annotations)
            defaults = [body[field] for field in fields if field in body]
            record = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # noqa: PYI024
            for key, value in body.items():
                if key not in _ADDED and key not in fields:
                    setattr(record, key, value)
            return record

    NamedTuple = type.__new__(_Record, "NamedTuple", (), {})
