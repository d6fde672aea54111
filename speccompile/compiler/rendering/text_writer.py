"""Write the text of manifests from skeletons, without building trees.

What `serialize` would write of a filled skeleton is fixed but for its values, once it is known which of them are there.
So each skeleton keeps its text with holes, a page, for each such case. The text is that of the plain way, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

from speccompile.compiler.render import Sketch, fill
from speccompile.compiler.rendering.references import TOKEN, Computed, Each
from speccompile.compiler.rendering.skeleton_cache import Skeleton
from speccompile.model.identity_cache import by_identity
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer
from speccompile.yaml_text.serialize import add_mapping, add_sequence, entries, key_text, string_text

_STEP = "  "
_MOST_PAGES = 64
"""How many pages a skeleton keeps: which of its values are there, and how deep it stands."""


class _OddError(Exception):
    """The page cannot be written ahead: the plain way has to say what comes of it."""


class _Place:
    """Where in a text a value stands: what is before it, and how deep."""

    __slots__ = ("deeper", "head", "indent", "key", "lead")

    def __init__(self, key: str | None, lead: str, indent: str) -> None:
        self.key: Final = key
        """The key before it; an item of a list has none."""
        self.lead: Final = lead
        self.indent: Final = indent
        self.deeper: Final = indent + _STEP
        self.head: Final = f"{lead}- " if key is None else f"{lead}{key_text(key)} "


_place = lru_cache(maxsize=1024)(_Place)
"""Places are shared, so that a value which many manifests have in the same place is written once."""


class _Hole(NamedTuple):
    """A place for the value of a token."""

    token: int
    place: _Place


class _Items:
    """A place for the items that `each` gives."""

    __slots__ = ("deeper", "lead", "token")

    def __init__(self, token: int, indent: str) -> None:
        self.token: Final = token
        self.lead: Final = indent + "- "
        self.deeper: Final = indent + _STEP


Piece: TypeAlias = str | _Hole | _Items
Page: TypeAlias = tuple[Piece, ...]
"""The pieces of the text; none of them if the page is for the plain way to write."""


def text_of(sketches: Iterable[Sketch]) -> str:
    """What `serialize` writes of the filled sketches, in their order. Raises TemplateFault."""
    lines: list[str] = []
    blocks: Blocks = {}
    for sketch in sketches:
        if lines:
            lines.append("---")
        lines += _lines(sketch, blocks)
    lines.append("")
    return "\n".join(lines)


def _lines(sketch: Sketch, blocks: Blocks) -> list[str]:
    lines: list[str] = []
    try:
        _write(sketch, "", "", lines, blocks)
    except _OddError:
        return entries(fill(sketch).plain())
    return lines


def _write(sketch: Sketch, lead: str, indent: str, lines: list[str], blocks: Blocks) -> None:
    values = sketch.values
    page = _page(sketch, lead, indent)
    if not page:
        raise _OddError
    for piece in page:
        if piece.__class__ is str:
            lines.append(piece)
        elif piece.__class__ is _Hole:
            token, place = piece
            node: Any = values[token]
            value = node.value
            if value.__class__ is str:
                lines.append(place.head + string_text(value, place.deeper))
            elif value.__class__ is int:
                lines.append(f"{place.head}{value}")
            elif node.span.source.layer is Layer.RUN:
                # Labels stand in every manifest of a run, and in none of the next.
                known = blocks.get((id(node), place))
                if known is None:
                    known = blocks[id(node), place] = (node, _block(node, place))
                lines.append(known[1])
            else:
                lines.append(_kept_block(node, place))
        else:
            items: Any = piece
            inner: Any = values[items.token]
            for one in inner:
                _write(one, items.lead, items.deeper, lines, blocks)


Blocks: TypeAlias = dict[tuple[int, _Place], tuple[Node, str]]
"""The lines of values of one run, by identity and place; as long as a value is here, no other has its identity."""


def _block(node: Node, place: _Place) -> str:
    """The lines of a value that is no text."""
    lines: list[str] = []
    if place.key is None:
        add_sequence((node.plain(),), place.lead, place.indent, lines)
    else:
        add_mapping({place.key: node.plain()}, place.lead, place.indent, lines)
    return "\n".join(lines)


# The values of an admin are the same in all runs.
_kept_block = by_identity(512)(_block)


def _page(sketch: Sketch, lead: str, indent: str) -> Page:
    there = tuple(map(bool, sketch.values))
    pages = sketch.skeleton.pages
    found = pages.get((there, lead, indent), pages)
    if found is pages:
        try:
            found = tuple(_joined(_Writer(sketch.skeleton, there).mapping(sketch.skeleton.tree, lead, indent)))
        except _OddError:
            found = ()
        if len(pages) >= _MOST_PAGES:
            # Not the oldest alone: between finding it and dropping it, another thread may do the same.
            pages.clear()
        pages[there, lead, indent] = found
    page: Page = found
    return page


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces, lines that follow each other as one."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and isinstance(piece, str) and isinstance(joined[-1], str):
            joined[-1] = f"{joined[-1]}\n{piece}"
        else:
            joined.append(piece)
    return joined


class _Writer:
    """Writes the page of one skeleton, for one case of which of its values are there."""

    def __init__(self, skeleton: Skeleton, there: tuple[bool, ...]) -> None:
        self._placed: Final = skeleton.placed
        self._there: Final = there

    def mapping(self, node: Node, lead: str, indent: str) -> Iterator[Piece]:
        if not isinstance(node.value, dict):
            raise _OddError
        for key, child in node.value.items():
            if TOKEN.search(key) or "\n" in key_text(key):
                raise _OddError
            if self._vanishes(child):
                continue
            yield from self._entry(key, child, lead, indent)
            lead = indent

    def _entry(self, key: str, child: Node, lead: str, indent: str) -> Iterator[Piece]:
        value = child.value
        token = self._token(value)
        if isinstance(token, int):
            yield _Hole(token, _place(key, lead, indent))
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

    def _sequence(self, node: Node, lead: str, indent: str) -> Iterator[Piece]:
        for child in node.items:
            if self._vanishes(child, item=True):
                continue
            yield from self._item(child, lead, indent)
            lead = indent

    def _item(self, child: Node, lead: str, indent: str) -> Iterator[Piece]:
        value = child.value
        token = self._token(value)
        if isinstance(token, int) and isinstance(self._placed[token], Each):
            if lead != indent:
                raise _OddError
            yield _Items(token, indent)
        elif isinstance(token, int):
            yield _Hole(token, _place(None, lead, indent))
        elif isinstance(value, dict) and value:
            yield from self.mapping(child, lead + "- ", indent + _STEP)
        elif isinstance(value, tuple) and value:
            yield from self._sequence(child, lead + "- ", indent + _STEP)
        else:
            lines: list[str] = []
            add_sequence((child.plain() if token is None else token.value,), lead, indent, lines)
            yield from lines

    def _vanishes(self, node: Node, *, item: bool = False) -> bool:
        """Whether nothing of the node is left once it is filled, and nothing in it is a fault even so."""
        value = node.value
        if isinstance(value, dict):
            if any(map(TOKEN.search, value)):
                raise _OddError
            return bool(value) and all(self._vanishes(child) for child in value.values())
        if isinstance(value, tuple):
            return bool(value) and all(self._vanishes(child, item=True) for child in value)
        token = self._token(value)
        if isinstance(token, int) and isinstance(self._placed[token], Each) and not item:
            raise _OddError
        return value is None or (isinstance(token, int) and not self._there[token])

    def _token(self, value: object) -> int | _Known | None:
        """The number of the token that the value is, or what an expression gave in its place; None if it is neither."""
        if not isinstance(value, str) or not TOKEN.search(value):
            return None
        whole = TOKEN.fullmatch(value)
        if whole is None:
            raise _OddError
        placed = self._placed[int(whole[1])]
        if not isinstance(placed, Computed):
            return int(whole[1])
        if not isinstance(placed.value, (str, int, float)):
            raise _OddError
        return _Known(placed.value)


class _Known(NamedTuple):
    """A value that the skeleton has already."""

    value: str | float
