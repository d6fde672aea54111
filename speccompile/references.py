"""Takes nodes of a spec, gives what templates see of them: references that print as tokens and note what is asked."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from speccompile.model import KeyPath, Node, format_path

# Private-use characters. Template text may not hold them, and in values that templates compute with, each is
# exchanged for a lone surrogate, which no input can hold: so whatever looks like a token is one.
_OPEN, _CLOSE = "\ue000", "\ue001"
TOKEN = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
RESERVED = re.compile("[\ue000-\ue003]")
_AWAY = {0xE000 + number: 0xDC00 + number for number in range(4)}
_BACK = {away: char for char, away in _AWAY.items()}


def _translated(value: Any, table: Mapping[int, int]) -> Any:
    """The value with the characters of all its texts exchanged."""
    if isinstance(value, str):
        return value.translate(table)
    if isinstance(value, (list, tuple)):
        return [_translated(item, table) for item in value]
    if isinstance(value, dict):
        return {_translated(key, table): _translated(child, table) for key, child in value.items()}
    return value


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


class Record:
    """What one rendering printed and asked; a token's number is its place in `placed`."""

    def __init__(self) -> None:
        self.placed: list[KeyPath | Computed] = []
        self.questions: list[Question] = []
        self._printed: list[object] = []
        self._read: list[KeyPath] = []

    def token(self, value: object) -> str:
        """The placeholder for a value that `{{ … }}` outputs, whatever it is."""
        self._printed.append(value)
        if isinstance(value, Reference):
            self.placed.append(path_of(value))
        else:
            # Text that a macro or a block gave may hold tokens itself.
            made = _translated(TOKEN.sub(self._text, value), _BACK) if isinstance(value, str) else value
            self.placed.append(Computed(made, tuple(self._read)))
            self._read.clear()
        return f"{_OPEN}{len(self.placed) - 1}{_CLOSE}"

    def _text(self, token: re.Match[str]) -> str:
        return str(plain(self._printed[int(token.group(1))]))

    def note(self, path: KeyPath, asked: str, operand: object, answer: Any) -> Any:
        """The answer, after it was written down."""
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
        return _translated(self.note(path, "value", None, node.plain()), _AWAY)


class Reference:
    """A place in what templates see; absent values are references too, so that a template can just print them."""

    __slots__ = ("_known", "_node", "_path", "_record")

    def __init__(self, record: Record, path: KeyPath, node: Node | None, known: frozenset[str] | None = None) -> None:
        self._record = record
        self._path = path
        self._node = node
        self._known = known

    def __bool__(self) -> bool:
        answer = self._node is not None and bool(self._node.value)
        return bool(self._record.note(self._path, "truth", None, answer))

    def __len__(self) -> int:
        value = self._node.value if self._node else None
        answer = len(value) if isinstance(value, (str, tuple, Mapping)) else 0
        return int(self._record.note(self._path, "length", None, answer))

    def __iter__(self) -> Iterator[Any]:
        """The items of a list as references, or the keys of a mapping; nothing where there is nothing."""
        if self._node and isinstance(self._node.value, Mapping):
            for key in self._record.note(self._path, "keys", None, tuple(self._node.value)):
                self._record.mark_read((*self._path, key))
                yield _translated(key, _AWAY)
            return
        for index in range(len(self)):
            yield child_of(self, index)

    def __contains__(self, wanted: object) -> bool:
        operand = _translated(plain(wanted), _BACK)
        answer = self._node is not None and operand in self._node.plain()
        return bool(self._record.note(self._path, "contains", operand, answer))

    def __eq__(self, other: object) -> bool:
        operand = _translated(plain(other), _BACK)
        answer = self._node is not None and bool(self._node.plain() == operand)
        return bool(self._record.note(self._path, "equals", operand, answer))

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


def _comparing(name: str, operation: Callable[[Any, Any], Any]) -> Callable[..., bool]:
    def compare(self: Reference, other: object) -> bool:
        operand = _translated(plain(other), _BACK)
        if self._node is None:
            raise ReferenceFault(f"`{format_path(self._path)}` is not there, and cannot be compared")
        return bool(self._record.note(self._path, name, operand, bool(operation(self._node.plain(), operand))))

    return compare


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _forward, _backward = _computing(getattr(operator, _name))
    setattr(Reference, f"__{_name}__", _forward)
    setattr(Reference, f"__r{_name}__", _backward)
for _name in ("lt", "le", "gt", "ge"):
    setattr(Reference, f"__{_name}__", _comparing(_name, getattr(operator, _name)))


def plain(value: object) -> Any:
    """The real value of a reference, noted as read and with reserved characters exchanged; anything else as it is."""
    if isinstance(value, Reference):
        return value._record.read(value._path, value._node)
    return value


def path_of(reference: Reference) -> KeyPath:
    return reference._path


def child_of(reference: Reference, step: object) -> Any:
    """The reference one step further, or a list of them for a slice; ReferenceFault where there can be no such step."""
    step = _translated(plain(step), _BACK)
    if isinstance(step, slice):
        return list(reference)[step]
    if not isinstance(step, (str, int)) or isinstance(step, bool):
        raise ReferenceFault(f"{reference!r} cannot be asked for {step!r}")
    known = reference._known
    if known is not None and step not in known:
        raise ReferenceFault(f"{reference!r} has no field {step!r}")
    node = reference._node
    path = (*reference._path, step)
    return Reference(reference._record, path, node.at((step,)) if node else None)


def is_there(reference: Reference) -> bool:
    """Whether the reference refers to something, noted as a question."""
    answer = reference._node is not None
    return bool(reference._record.note(reference._path, "there", None, answer))


def length_of(reference: Reference) -> int:
    """How long the value is, as a value that was computed from it."""
    reference._record.mark_read(reference._path)
    return len(reference)
