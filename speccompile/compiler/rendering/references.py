"""References: stand-ins for values in templates, which record every question about them."""

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

# Private-use characters mark tokens. Template text must not contain them, and in values that expressions use, each is
# replaced by a lone surrogate, which no input can contain. So everything that looks like a token is one.
_OPEN, _CLOSE = "\ue000", "\ue001"
TOKEN = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
RESERVED = re.compile("[\ue000-\ue003]")
_ESCAPES = {0xE000 + number: 0xDC00 + number for number in range(4)}
_UNESCAPES = {escape: char for char, escape in _ESCAPES.items()}
_LONE_SURROGATE = "[\ud800-\udfff]"
_MAX_INTEGER = 2**63 - 1
MOST_STEPS = 1_000_000
"""The step limit of one rendering: questions, loop iterations, calls, and the size of values."""
_CHARACTERS_PER_STEP = 16


def _translated(value: Any, table: Mapping[int, int]) -> Any:
    """The value, with the characters of all its strings translated."""
    if isinstance(value, str):
        return value.translate(table)
    if isinstance(value, (list, tuple)):
        return [_translated(item, table) for item in value]
    if isinstance(value, dict):
        return {_translated(key, table): _translated(child, table) for key, child in value.items()}
    return value


def _can_be_written(value: object) -> bool:
    """Whether a manifest can contain this scalar."""
    if isinstance(value, str):
        return not re.search(_LONE_SURROGATE, value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) <= _MAX_INTEGER


def weight(value: object) -> int:
    """The steps that a value costs, counted up to the limit of a rendering."""
    total, pending = 1, [value]
    while pending and total <= MOST_STEPS:
        one = pending.pop()
        if isinstance(one, str):
            total += len(one) // _CHARACTERS_PER_STEP
        elif isinstance(one, dict):
            total += 2 * len(one)
            pending += (*one.keys(), *one.values())
        elif isinstance(one, (list, tuple)):
            total += len(one)
            pending += one
        elif isinstance(one, int):
            total += one.bit_length() // _CHARACTERS_PER_STEP
    return total


class ReferenceFault(Exception):  # noqa: N818  becomes a TemplateFault
    """An invalid use of a reference in a template, such as computing with an unset value."""


class Question(NamedTuple):
    """A question of a template about a value, with the answer; cached skeletons are found by answers."""

    path: KeyPath
    operation: str
    operand: object
    answer: object


class Computed(NamedTuple):
    """The result of an expression, and the paths of the values that it used."""

    value: object
    read: tuple[KeyPath, ...]


class Each(NamedTuple):
    """The items of a list, each rendered by another template; the length of the list is not a question."""

    path: KeyPath
    template: str


Placed: TypeAlias = KeyPath | Computed | Each
"""What replaces a token."""


def _comparison(operation: Callable[[Any, Any], Any]) -> Callable[[Node | None, Any], bool]:
    def compare(node: Node | None, operand: Any) -> bool:
        if node is None:
            raise ReferenceFault("an unset value cannot be compared")
        return bool(operation(node.plain(), operand))

    return compare


def _length(node: Node | None, _: object) -> int:
    value = node.value if node else None
    return len(value) if isinstance(value, (str, tuple, dict)) else 0


def _keys(node: Node | None, _: object) -> tuple[str, ...] | None:
    return tuple(node.value) if node and isinstance(node.value, dict) else None


def _value(node: Node | None, _: object) -> Any:
    if node is None:
        raise ReferenceFault("an unset value cannot be used in an expression")
    return node.plain()


ANSWERS: Mapping[str, Callable[[Node | None, Any], Any]] = {
    "there": lambda node, _: node is not None,
    "truth": lambda node, _: node is not None and bool(node.value),
    "length": _length,
    "keys": _keys,
    "contains": lambda node, wanted: node is not None and wanted in node.plain(),
    "equals": lambda node, other: node is not None and bool(node.plain() == other),
    **{name: _comparison(getattr(operator, name)) for name in ("lt", "le", "gt", "ge")},
    "value": _value,
}
"""The functions that answer questions, each with the value and an operand."""


class Record:
    """The output and questions of one rendering; a token's number is its index in `placed`."""

    def __init__(self) -> None:
        self.placed: list[Placed] = []
        self.questions: list[Question] = []
        self.steps = 0
        self.depth = 0
        """How deeply macro calls are nested."""
        self._printed: list[object] = []
        self._read: list[KeyPath] = []

    def spend(self, steps: int) -> None:
        """Count steps. Raises ReferenceFault when there are too many."""
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise ReferenceFault(
                "the template takes too many steps: its loops run too often, or its strings grow too long"
            )

    def token(self, value: object) -> str:
        """The token for a value that `{{ … }}` prints."""
        # The output of a macro or block may contain tokens.
        value = TOKEN.sub(self._text, value) if isinstance(value, str) else value
        self.spend(weight(value))
        self._printed.append(value)
        if isinstance(value, Reference):
            self.placed.append(reference_path(value))
        elif isinstance(value, Each):
            self.placed.append(value)
        else:
            result = _translated(value, _UNESCAPES) if isinstance(value, str) else value
            if not _can_be_written(result):
                raise ReferenceFault("the result of an expression is a string or number that a manifest cannot contain")
            self.placed.append(Computed(result, tuple(self._read)))
            self._read.clear()
        return f"{_OPEN}{len(self.placed) - 1}{_CLOSE}"

    def _text(self, token: re.Match[str]) -> str:
        number = int(token.group(1))
        printed, placed = self._printed[number], self.placed[number]
        if isinstance(printed, Each):
            raise ReferenceFault("`each` can only be used alone, as an item of a list")
        if isinstance(placed, Computed):
            # The text around it is computed from the same values.
            self._read += placed.read
        return str(real_value(printed))

    def ask(self, path: KeyPath, node: Node | None, operation: str, operand: object = None) -> Any:
        """Answer a question, and record it."""
        self.spend(weight(operand))
        answer = ANSWERS[operation](node, operand)
        self.questions.append(Question(path, operation, operand, answer))
        return answer

    def mark_read(self, path: KeyPath) -> None:
        """Record that the next result is computed from this value, among others."""
        self._read.append(path)

    def read(self, path: KeyPath, node: Node | None) -> Any:
        """The value, recorded as used: the skeleton is valid for equal values only."""
        if node is None:
            raise ReferenceFault(f"`{format_path(path)}` is unset, and cannot be used in an expression")
        self.mark_read(path)
        value = self.ask(path, node, "value")
        self.spend(weight(value))
        return _translated(value, _ESCAPES)


class Reference:
    """A path in the context of templates; unset values are references too, so that templates can print them."""

    __slots__ = ("_known", "_node", "_path", "_record")

    def __init__(self, record: Record, path: KeyPath, node: Node | None, known: frozenset[str] | None = None) -> None:
        self._record = record
        self._path = path
        self._node = node
        self._known = known

    def _ask(self, operation: str, operand: object = None) -> Any:
        return self._record.ask(self._path, self._node, operation, operand)

    def __bool__(self) -> bool:
        return bool(self._ask("truth"))

    def __len__(self) -> int:
        return int(self._ask("length"))

    def __iter__(self) -> Iterator[Any]:
        """The items of a list as references, or the keys of a mapping; empty for an unset value."""
        keys = self._ask("keys")
        if keys is not None:
            for key in keys:
                self._record.mark_read((*self._path, key))
                yield _translated(key, _ESCAPES)
            return
        for index in range(len(self)):
            yield child_of(self, index)

    def __contains__(self, wanted: object) -> bool:
        return bool(self._ask("contains", _operand(wanted)))

    def __eq__(self, other: object) -> bool:
        return bool(self._ask("equals", _operand(other)))

    def __hash__(self) -> int:
        return hash(real_value(self))

    def __str__(self) -> str:
        return str(real_value(self))

    def __int__(self) -> int:
        return int(real_value(self))

    def __index__(self) -> int:
        return operator.index(real_value(self))

    def __float__(self) -> float:
        return float(real_value(self))

    def __neg__(self) -> Any:
        return -real_value(self)

    def __repr__(self) -> str:
        return f"<reference {format_path(self._path)}>"


def _computing(operation: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Reference, other: object) -> Any:
        return operation(real_value(self), real_value(other))

    def backward(self: Reference, other: object) -> Any:
        return operation(real_value(other), real_value(self))

    return forward, backward


def _comparing(name: str) -> Callable[..., bool]:
    def compare(self: Reference, other: object) -> bool:
        operand = _operand(other)
        if self._node is None:
            raise ReferenceFault(f"`{format_path(self._path)}` is unset, and cannot be compared")
        return bool(self._ask(name, operand))

    return compare


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _forward, _backward = _computing(getattr(operator, _name))
    setattr(Reference, f"__{_name}__", _forward)
    setattr(Reference, f"__r{_name}__", _backward)
for _name in ("lt", "le", "gt", "ge"):
    setattr(Reference, f"__{_name}__", _comparing(_name))


def real_value(value: object) -> Any:
    """The value of a reference, recorded as used and with reserved characters escaped; anything else as it is."""
    if isinstance(value, Reference):
        return value._record.read(value._path, value._node)
    return value


def _operand(value: object) -> Any:
    """The operand of a comparison as plain data, so that a cached question has no references to a run."""
    resolved = real_value(value)
    if isinstance(resolved, (list, tuple)):
        return [_operand(item) for item in resolved]
    if isinstance(resolved, dict):
        return {_operand(key): _operand(child) for key, child in resolved.items()}
    if resolved is None or isinstance(resolved, (str, int, float)):
        scalar = _translated(resolved, _UNESCAPES)
        if _can_be_written(scalar):
            return scalar
        raise ReferenceFault("a value is compared with a string or number that no value can have")
    str(resolved)  # raises UndefinedError for an unknown name
    raise ReferenceFault(f"a value cannot be compared with a {type(resolved).__name__}")


def reference_path(reference: Reference) -> KeyPath:
    return reference._path


def child_of(reference: Reference, step: object) -> Any:
    """The reference to an item or field, or a list of references for a slice. Raises ReferenceFault."""
    step = _translated(real_value(step), _UNESCAPES)
    if isinstance(step, slice):
        return list(reference)[step]
    if not isinstance(step, (str, int)) or isinstance(step, bool):
        raise ReferenceFault(f"`{format_path(reference._path)}` cannot be indexed with a {type(step).__name__}")
    known = reference._known
    if known is not None and step not in known:
        raise ReferenceFault(f"`{format_path(reference._path)}` has no field {quote(step)}")
    node = reference._node
    path = (*reference._path, step)
    return Reference(reference._record, path, node.at((step,)) if node else None)


def is_set(reference: Reference) -> bool:
    """Whether the value is set, recorded as a question."""
    return bool(reference._ask("there"))


def length_of(reference: Reference) -> int:
    """The length of the value, recorded as computed from it."""
    reference._record.mark_read(reference._path)
    return len(reference)
