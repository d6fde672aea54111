"""Write the text of manifests from skeletons, without building trees.

The text of a skeleton depends only on its values, once it is known which of them are set. So each skeleton caches its
text with holes, a page, for each set of values. The result is byte for byte what `serialize` writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from speccompile.compiler.render import Sketch, fill
from speccompile.compiler.rendering.references import TOKEN, Computed, Each
from speccompile.compiler.rendering.skeleton_cache import Skeleton
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.yaml_text.serialize import add_mapping, add_sequence, entries, key_text, string_text

_STEP = "  "
_MAX_PAGES = 64
"""Pages cached for a skeleton, by which values are set and the indentation."""


class _NotPreparedError(Exception):
    """The page cannot be prepared; `serialize` writes the manifest, or an error is raised."""


class _Place:
    """The position of a value in a text: its key and indentation."""

    __slots__ = ("deeper", "head", "indent", "key", "lead")

    def __init__(self, key: str | None, lead: str, indent: str) -> None:
        self.key: Final = key
        """None for an item of a list."""
        self.lead: Final = lead
        self.indent: Final = indent
        self.deeper: Final = indent + _STEP
        self.head: Final = f"{lead}- " if key is None else f"{lead}{key_text(key)} "


class _Hole(NamedTuple):
    """The place of a token's value."""

    token: int
    place: _Place


class _Items:
    """The place of the items of `each`."""

    __slots__ = ("deeper", "lead", "token")

    def __init__(self, token: int, indent: str) -> None:
        self.token: Final = token
        self.lead: Final = indent + "- "
        self.deeper: Final = indent + _STEP


PagePart: TypeAlias = str | _Hole | _Items
Page: TypeAlias = tuple[PagePart, ...]
"""The parts of the text; empty if the page cannot be prepared."""


def manifest_text(sketches: Iterable[Sketch]) -> str:
    """The text of the sketches, as `serialize` writes them. Raises TemplateFault."""
    lines: list[str] = []
    for sketch in sketches:
        if lines:
            lines.append("---")
        lines += _lines(sketch)
    lines.append("")
    return "\n".join(lines)


def _lines(sketch: Sketch) -> list[str]:
    lines: list[str] = []
    try:
        _write(sketch, "", "", lines)
    except _NotPreparedError:
        return entries(fill(sketch).plain())
    return lines


def _write(sketch: Sketch, lead: str, indent: str, lines: list[str]) -> None:
    values = sketch.values
    page = _page(sketch, lead, indent)
    if not page:
        raise _NotPreparedError
    for part in page:
        if part.__class__ is str:
            lines.append(part)
        elif part.__class__ is _Hole:
            token, place = part
            node: Any = values[token]
            value = node.value
            if value.__class__ is str:
                lines.append(place.head + string_text(value, place.deeper))
            elif value.__class__ is int:
                lines.append(f"{place.head}{value}")
            else:
                lines.append(_block(node, place))
        else:
            items: Any = part
            inner: Any = values[items.token]
            for one in inner:
                _write(one, items.lead, items.deeper, lines)


def _block(node: Node, place: _Place) -> str:
    """The lines of a value that is not a string."""
    lines: list[str] = []
    if place.key is None:
        add_sequence((node.plain(),), place.lead, place.indent, lines)
    else:
        add_mapping({place.key: node.plain()}, place.lead, place.indent, lines)
    return "\n".join(lines)


def _page(sketch: Sketch, lead: str, indent: str) -> Page:
    is_set = tuple(map(bool, sketch.values))
    pages = sketch.skeleton.pages
    cached = pages.get((is_set, lead, indent), pages)
    if cached is pages:
        try:
            cached = tuple(_joined(_Writer(sketch.skeleton, is_set).mapping(sketch.skeleton.tree, lead, indent)))
        except _NotPreparedError:
            cached = ()
        if len(pages) >= _MAX_PAGES:
            # All of them, because two threads might drop the same oldest page.
            pages.clear()
        pages[is_set, lead, indent] = cached
    page: Page = cached
    return page


def _joined(parts: Iterable[PagePart]) -> list[PagePart]:
    """Join consecutive lines."""
    joined: list[PagePart] = []
    for part in parts:
        if joined and isinstance(part, str) and isinstance(joined[-1], str):
            joined[-1] = f"{joined[-1]}\n{part}"
        else:
            joined.append(part)
    return joined


class _Writer:
    """Prepare the page of a skeleton for one set of values."""

    def __init__(self, skeleton: Skeleton, is_set: tuple[bool, ...]) -> None:
        self._placed: Final = skeleton.placed
        self._is_set: Final = is_set

    def mapping(self, node: Node, lead: str, indent: str) -> Iterator[PagePart]:
        if not isinstance(node.value, dict):
            raise _NotPreparedError
        for key, child in node.value.items():
            if TOKEN.search(key) or "\n" in key_text(key):
                raise _NotPreparedError
            if self._vanishes(child):
                continue
            yield from self._entry(key, child, lead, indent)
            lead = indent

    def _entry(self, key: str, child: Node, lead: str, indent: str) -> Iterator[PagePart]:
        value = child.value
        token = self._token(value)
        if isinstance(token, int):
            yield _Hole(token, _Place(key, lead, indent))
        elif isinstance(value, dict) and value:
            yield lead + key_text(key)
            yield from self.mapping(child, indent + _STEP, indent + _STEP)
        elif isinstance(value, tuple) and value:
            yield lead + key_text(key)
            yield from self._sequence(child, indent, indent)
        else:
            lines: list[str] = []
            add_mapping({key: child.plain() if token is None else token.value}, lead, indent, lines)
            yield from lines

    def _sequence(self, node: Node, lead: str, indent: str) -> Iterator[PagePart]:
        for child in node.items:
            if self._vanishes(child, item=True):
                continue
            yield from self._item(child, lead, indent)
            lead = indent

    def _item(self, child: Node, lead: str, indent: str) -> Iterator[PagePart]:
        value = child.value
        token = self._token(value)
        if isinstance(token, int) and isinstance(self._placed[token], Each):
            if lead != indent:
                raise _NotPreparedError
            yield _Items(token, indent)
        elif isinstance(token, int):
            yield _Hole(token, _Place(None, lead, indent))
        elif isinstance(value, dict) and value:
            yield from self.mapping(child, lead + "- ", indent + _STEP)
        elif isinstance(value, tuple) and value:
            yield from self._sequence(child, lead + "- ", indent + _STEP)
        else:
            lines: list[str] = []
            add_sequence((child.plain() if token is None else token.value,), lead, indent, lines)
            yield from lines

    def _vanishes(self, node: Node, *, item: bool = False) -> bool:
        """Whether the node is empty once it is filled, and has no error."""
        value = node.value
        if isinstance(value, dict):
            if any(map(TOKEN.search, value)):
                raise _NotPreparedError
            return bool(value) and all(self._vanishes(child) for child in value.values())
        if isinstance(value, tuple):
            return bool(value) and all(self._vanishes(child, item=True) for child in value)
        token = self._token(value)
        if isinstance(token, int) and isinstance(self._placed[token], Each) and not item:
            raise _NotPreparedError
        return value is None or (isinstance(token, int) and not self._is_set[token])

    def _token(self, value: object) -> int | _Computed | None:
        """The number of the token that is the value, or the result of its expression; None for other values."""
        if not isinstance(value, str) or not TOKEN.search(value):
            return None
        whole = TOKEN.fullmatch(value)
        if whole is None:
            raise _NotPreparedError
        placed = self._placed[int(whole[1])]
        if not isinstance(placed, Computed):
            return int(whole[1])
        if not isinstance(placed.value, (str, int, float)):
            raise _NotPreparedError
        return _Computed(placed.value)


class _Computed(NamedTuple):
    """The result of an expression, which is part of the skeleton."""

    value: str | float
