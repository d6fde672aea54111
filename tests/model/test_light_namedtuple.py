"""The light named tuple behaves like `typing.NamedTuple`, with or without postponed annotations."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from speccompile.model import light_namedtuple

SOURCE = '''
class Interval(NamedTuple):
    """Two ends."""

    low: int
    high: int = 9
    names: tuple[str, ...] = ()
    STEP = 2

    @property
    def width(self):
        return self.high - self.low

    @classmethod
    def at(cls, low):
        return cls(low, low)


class Nothing(NamedTuple):
    pass
'''
FUTURE = "from __future__ import annotations\n"


def classes(base: object, source: str) -> dict[str, Any]:
    names = {"NamedTuple": base, "__name__": "somewhere"}
    exec(compile(source, "somewhere.py", "exec", dont_inherit=True), names)  # noqa: S102
    return names


def described(names: dict[str, Any]) -> list[object]:
    interval, nothing = names["Interval"], names["Nothing"]
    return [
        *((kind._fields, kind._field_defaults, kind.__bases__, kind.__name__) for kind in (interval, nothing)),
        (interval.__doc__, interval.__module__, interval.__qualname__, interval.STEP),
        (
            repr(interval(1)),
            interval(1, 5, ("a",)),
            interval(low=2).width,
            interval.at(4),
            interval(1)._replace(high=3),
        ),
        repr(nothing()),
    ]


@pytest.mark.parametrize("source", [SOURCE, FUTURE + SOURCE], ids=["evaluated", "postponed"])
def test_it_behaves_like_the_named_tuple_of_typing(source: str) -> None:
    light, heavy = classes(light_namedtuple.NamedTuple, source), classes(typing.NamedTuple, source)
    assert described(light) == described(heavy)
    assert light["Interval"]._fields == ("low", "high", "names")


@pytest.mark.parametrize("source", [SOURCE, FUTURE + SOURCE], ids=["evaluated", "postponed"])
def test_a_field_without_a_default_is_required(source: str) -> None:
    interval = classes(light_namedtuple.NamedTuple, source)["Interval"]
    with pytest.raises(TypeError, match="low"):
        interval()
