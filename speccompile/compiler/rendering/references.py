"""References: what templates see of a value, recording every question they ask."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node

# Private-use characters. Template text may not hold them, and in values that templates compute with, each is
# exchanged for a lone surrogate, which no input can hold: so whatever looks like a token is one.
_OPEN, _CLOSE = "\ue000", "\ue001"
TOKEN = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
RESERVED = re.compile("[\ue000-\ue003]")
_AWAY = {0xE000 + number: 0xDC00 + number for number in range(4)}
_BACK = {away: char for char, away in _AWAY.items()}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST = 2**63 - 1
MOST_STEPS = 1_000_000
"""What one rendering may do: questions, turns of loops, calls, values that are printed or gone through."""
_CHARACTERS = 16
"""How many characters of text count as one step."""


def _translated(value: Any, table: Mapping[int, int]) -> Any:
    """The value with the characters of all its texts exchanged."""
    if isinstance(value, str):
        return value.translate(table)
    if isinstance(value, (list, tuple)):
        return [_translated(item, table) for item in value]
    if isinstance(value, dict):
        return {_translated(key, table): _translated(child, table) for key, child in value.items()}
    return value


def _can_be_written(value: object) -> bool:
    """Whether a manifest can hold what an expression made, as far as it is a scalar."""
    if isinstance(value, str):
        return not _LONE_SURROGATE.search(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) <= _LARGEST


def weight(value: object) -> int:
    """How many steps it is to go through the value; nobody counts much further than a rendering may go."""
    total, pending = 1, [value]
    while pending and total <= MOST_STEPS:
        one = pending.pop()
        if isinstance(one, str):
            total += len(one) // _CHARACTERS
        elif isinstance(one, dict):
            total += 2 * len(one)
            pending += (*one.keys(), *one.values())
        elif isinstance(one, (list, tuple)):
            total += len(one)
            pending += one
        elif isinstance(one, int):
            total += one.bit_length() // _CHARACTERS
    return total


class ReferenceFault(Exception):  # noqa: N818  becomes a fault of the template that caused it
    """Something a template asks that has no answer, such as computing with a value that is not there."""


class Question(NamedTuple):
    """What a template asked of a value to choose its shape, and the answer: the key to a kept skeleton."""

    path: KeyPath
    asked: str
    operand: object
    answer: object


class Computed(NamedTuple):
    """A value that an expression of the template made, and the paths it read to make it."""

    value: object
    read: tuple[KeyPath, ...]


class Each(NamedTuple):
    """The items of a list, each as another template makes it; where the list ends is no question to ask."""

    path: KeyPath
    template: str


Placed: TypeAlias = KeyPath | Computed | Each
"""What a token stands for."""


def _compared(operation: Callable[[Any, Any], Any]) -> Callable[[Node | None, Any], bool]:
    def compare(node: Node | None, operand: Any) -> bool:
        if node is None:
            raise ReferenceFault("what is not there cannot be compared")
        return bool(operation(node.plain(), operand))

    return compare


def _length(node: Node | None, _: object) -> int:
    value = node.value if node else None
    return len(value) if isinstance(value, (str, tuple, dict)) else 0


def _keys(node: Node | None, _: object) -> tuple[str, ...] | None:
    return tuple(node.value) if node and isinstance(node.value, dict) else None


def _value(node: Node | None, _: object) -> Any:
    if node is None:
        raise ReferenceFault("nothing can be computed from what is not there")
    return node.plain()


ANSWERS: Mapping[str, Callable[[Node | None, Any], Any]] = {
    "there": lambda node, _: node is not None,
    "truth": lambda node, _: node is not None and bool(node.value),
    "length": _length,
    "keys": _keys,
    "contains": lambda node, wanted: node is not None and wanted in node.plain(),
    "equals": lambda node, other: node is not None and bool(node.plain() == other),
    **{name: _compared(getattr(operator, name)) for name in ("lt", "le", "gt", "ge")},
    "value": _value,
}
"""Everything that can be asked of a value, with what else is said in the question: the one place that answers."""


class Record:
    """What one rendering printed and asked; a token's number is its place in `placed`."""

    def __init__(self) -> None:
        self.placed: list[Placed] = []
        self.questions: list[Question] = []
        self.steps = 0
        self.depth = 0
        """How many macros are at work in each other."""
        self._printed: list[object] = []
        self._read: list[KeyPath] = []

    def spend(self, steps: int) -> None:
        """Counts steps, so that no template works for ever; what comes to too many is a fault."""
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise ReferenceFault("the template does too much: its loops turn too often, or its texts grow too long")

    def token(self, value: object) -> str:
        """The placeholder for a value that `{{ … }}` outputs, whatever it is."""
        # Text that a macro or a block gave may hold tokens itself.
        value = TOKEN.sub(self._text, value) if isinstance(value, str) else value
        self.spend(weight(value))
        self._printed.append(value)
        if isinstance(value, Reference):
            self.placed.append(path_of(value))
        elif isinstance(value, Each):
            self.placed.append(value)
        else:
            made = _translated(value, _BACK) if isinstance(value, str) else value
            if not _can_be_written(made):
                raise ReferenceFault("an expression gives a text or a number that no manifest can hold")
            self.placed.append(Computed(made, tuple(self._read)))
            self._read.clear()
        return f"{_OPEN}{len(self.placed) - 1}{_CLOSE}"

    def _text(self, token: re.Match[str]) -> str:
        number = int(token.group(1))
        printed, placed = self._printed[number], self.placed[number]
        if isinstance(printed, Each):
            raise ReferenceFault("what `each` gives can only stand alone, as an item of a list")
        if isinstance(placed, Computed):
            # What it was made from, the text around it is made from as well.
            self._read += placed.read
        return str(plain(printed))

    def ask(self, path: KeyPath, node: Node | None, asked: str, operand: object = None) -> Any:
        """The answer, after it was written down."""
        self.spend(weight(operand))
        answer = ANSWERS[asked](node, operand)
        self.questions.append(Question(path, asked, operand, answer))
        return answer

    def mark_read(self, path: KeyPath) -> None:
        """Whatever is computed next was computed from this value, among others."""
        self._read.append(path)

    def read(self, path: KeyPath, node: Node | None) -> Any:
        """The real value, noted as read: a skeleton made with it fits equal values only."""
        if node is None:
            raise ReferenceFault(f"`{format_path(path)}` is not there, and nothing can be computed from it")
        self.mark_read(path)
        known = self.ask(path, node, "value")
        self.spend(weight(known))
        return _translated(known, _AWAY)


class Reference:
    """A place in what templates see; absent values are references too, so that a template can just print them."""

    __slots__ = ("_known", "_node", "_path", "_record")

    def __init__(self, record: Record, path: KeyPath, node: Node | None, known: frozenset[str] | None = None) -> None:
        self._record = record
        self._path = path
        self._node = node
        self._known = known

    def _ask(self, asked: str, operand: object = None) -> Any:
        return self._record.ask(self._path, self._node, asked, operand)

    def __bool__(self) -> bool:
        return bool(self._ask("truth"))

    def __len__(self) -> int:
        return int(self._ask("length"))

    def __iter__(self) -> Iterator[Any]:
        """The items of a list as references, or the keys of a mapping; nothing where there is nothing."""
        keys = self._ask("keys")
        if keys is not None:
            for key in keys:
                self._record.mark_read((*self._path, key))
                yield _translated(key, _AWAY)
            return
        for index in range(len(self)):
            yield child_of(self, index)

    def __contains__(self, wanted: object) -> bool:
        return bool(self._ask("contains", _operand(wanted)))

    def __eq__(self, other: object) -> bool:
        return bool(self._ask("equals", _operand(other)))

    def __hash__(self) -> int:
        return hash(plain(self))

    def __str__(self) -> str:
        return str(plain(self))

    def __int__(self) -> int:
        return int(plain(self))

    def __index__(self) -> int:
        return operator.index(plain(self))

    def __float__(self) -> float:
        return float(plain(self))

    def __neg__(self) -> Any:
        return -plain(self)

    def __repr__(self) -> str:
        return f"<reference {format_path(self._path)}>"


def _computing(operation: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Reference, other: object) -> Any:
        return operation(plain(self), plain(other))

    def backward(self: Reference, other: object) -> Any:
        return operation(plain(other), plain(self))

    return forward, backward


def _comparing(name: str) -> Callable[..., bool]:
    def compare(self: Reference, other: object) -> bool:
        operand = _operand(other)
        if self._node is None:
            raise ReferenceFault(f"`{format_path(self._path)}` is not there, and cannot be compared")
        return bool(self._ask(name, operand))

    return compare


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _forward, _backward = _computing(getattr(operator, _name))
    setattr(Reference, f"__{_name}__", _forward)
    setattr(Reference, f"__r{_name}__", _backward)
for _name in ("lt", "le", "gt", "ge"):
    setattr(Reference, f"__{_name}__", _comparing(_name))


def plain(value: object) -> Any:
    """The real value of a reference, noted as read and with reserved characters exchanged; anything else as it is."""
    if isinstance(value, Reference):
        return value._record.read(value._path, value._node)
    return value


def _operand(value: object) -> Any:
    """What a value is compared with, as data: all of it is read, so that a kept question holds on to no run."""
    known = plain(value)
    if isinstance(known, (list, tuple)):
        return [_operand(item) for item in known]
    if isinstance(known, dict):
        return {_operand(key): _operand(child) for key, child in known.items()}
    if known is None or isinstance(known, (str, int, float)):
        scalar = _translated(known, _BACK)
        if _can_be_written(scalar):
            return scalar
        raise ReferenceFault("a value is compared with a text or a number that it cannot be")
    str(known)  # a name that nobody provides raises here, and is told by its name
    raise ReferenceFault(f"a value can be compared with data, and not with a {type(known).__name__}")


def path_of(reference: Reference) -> KeyPath:
    return reference._path


def child_of(reference: Reference, step: object) -> Any:
    """The reference one step further, or a list of them for a slice; ReferenceFault where there can be no such step."""
    step = _translated(plain(step), _BACK)
    if isinstance(step, slice):
        return list(reference)[step]
    if not isinstance(step, (str, int)) or isinstance(step, bool):
        raise ReferenceFault(f"`{format_path(reference._path)}` cannot be asked for a {type(step).__name__}")
    known = reference._known
    if known is not None and step not in known:
        raise ReferenceFault(f"`{format_path(reference._path)}` has no field {quote(step)}")
    node = reference._node
    path = (*reference._path, step)
    return Reference(reference._record, path, node.at((step,)) if node else None)


def is_there(reference: Reference) -> bool:
    """Whether the reference refers to something, noted as a question."""
    return bool(reference._ask("there"))


def length_of(reference: Reference) -> int:
    """How long the value is, as a value that was computed from it."""
    reference._record.mark_read(reference._path)
    return len(reference)
