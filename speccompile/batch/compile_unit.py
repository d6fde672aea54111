"""Compile a unit of work here or in a worker, noting which profiles it depends on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speccompile.batch.compiler_fingerprint import text_digest
from speccompile.batch.wire_format import Sources, to_portable
from speccompile.batch.work_units import Answer, Piece, sources_of
from speccompile.compiler.compile_files import compile_file
from speccompile.compiler.compiled import Rendered, Result
from speccompile.compiler.documents.admin_config import Setting, parsed, setting_of
from speccompile.files.manifest_text import rendered
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer

DONE, BUG, OTHER = "done", "bug", "other"
"""How a worker answers: with results, a traceback, or the fingerprint of another compiler."""


class Order(NamedTuple):
    """What a worker is asked to do."""

    compiler: str
    admin: AdminTexts
    shape: str
    runs: tuple[Text, ...]


class Noting(dict[str, Any]):
    """Profiles by id that write down which of them are asked for; who looks through all of them asks for all."""

    __slots__ = ("asked", "asks_all")

    def __init__(self, known: Any) -> None:
        super().__init__(known)
        self.asked: dict[str, None] = {}
        self.asks_all = False

    def forget(self) -> None:
        self.asked, self.asks_all = {}, False

    def get(self, key: str, default: Any = None) -> Any:
        self.asked[key] = None
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.asked[key] = None
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked[str(key)] = None
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self.asks_all = True
        return super().__iter__()

    def keys(self) -> Any:
        self.asks_all = True
        return super().keys()

    def values(self) -> Any:
        self.asks_all = True
        return super().values()

    def items(self) -> Any:
        self.asks_all = True
        return super().items()

    def __len__(self) -> int:
        self.asks_all = True
        return super().__len__()


class Compiler(NamedTuple):
    """What compiles files one after the other, and says which profiles each of them depends on."""

    setting: Setting
    profiles: Noting
    shape: str
    known: Sources

    @classmethod
    def of(cls, setting: Setting, shape: str, known: Sources) -> Compiler:
        # Nobody else's notes get among ours, though other threads may have the same setting.
        profiles = Noting(setting.profiles)
        return cls(setting._replace(profiles=profiles), profiles, shape, known)

    def answer(self, piece: Piece) -> Answer:
        """The answer of a file, compiled if it is not known."""
        return piece.answer or self.compiled(piece)

    def compiled(self, piece: Piece) -> Answer:
        """The answer of a file, and the profiles that it depends on."""
        self.profiles.forget()
        results = tuple(to_portable(result, piece.source, self.known) for result in self.rendered(piece))
        return results, None if self.profiles.asks_all else tuple(self.profiles.asked)

    def rendered(self, piece: Piece) -> Iterator[Rendered]:
        """What became of each run of a file, with everything about it."""
        return rendered(compile_file(parsed(piece.text, Layer.RUN), self.setting), self.shape)

    def again(self, piece: Piece, number: int) -> Result:
        """What became of one run of a file, with everything about it: a result that has travelled lacks its trees."""
        return list(compile_file(parsed(piece.text, Layer.RUN), self.setting))[number]


def compile_chunk(order: Order) -> tuple[str, Any]:
    """What a worker answers: what became of the files, or why it cannot tell."""
    if order.compiler != text_digest():
        return OTHER, text_digest()
    try:
        compiler = Compiler.of(setting_of(order.admin), order.shape, sources_of(order.admin))
        return DONE, tuple(compiler.answer(Piece.of(text)) for text in order.runs)
    except Exception:  # noqa: BLE001  a bug of ours is no fault of the executor, and says so
        import traceback

        return BUG, traceback.format_exc()
