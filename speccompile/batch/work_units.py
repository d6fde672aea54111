"""Takes texts of runs and a setting, gives what became of them as plain data: here, or wherever an executor works."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.batch.wire_format import Portable, Sources, sources_by_name, to_portable
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source
from speccompile.schema.library import Template

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from speccompile.compiler.compiled import Result
    from speccompile.compiler.documents.admin_config import Setting
    from speccompile.yaml_text.parse import Parsed

CHUNK = 100
"""Runs that go to a worker together: sending one costs as much as compiling several."""
_PER_WORKER = 3
"""Chunks that are on their way for each worker, so that none waits for us; and memory holds no more."""
_WORKERS = 8
"""How many workers an executor has that does not tell."""
_PATIENCE = 5.0
"""Seconds after which to ask whether anybody is still at work."""
_SETTINGS = 4
_DONE, _BUG, _OTHER = "done", "bug", "other"

Answer: TypeAlias = tuple[tuple[Portable, ...], tuple[str, ...] | None]
"""The results of one file, and the profiles that they depend on; None is all of them."""


class ExecutorError(RuntimeError):
    """An executor did not do its work, which says nothing about the runs."""


class Text(NamedTuple):
    """A text with its name; or Python data, as a JSON list of documents."""

    name: str
    text: str
    is_data: bool = False


class Admin(NamedTuple):
    """What the admin wrote."""

    profiles: tuple[Text, ...]
    platform: Text | None
    templates: tuple[Template, ...] = ()


class Order(NamedTuple):
    """What a worker is asked to do."""

    compiler: str
    admin: Admin
    shape: str
    runs: tuple[Text, ...]


class Piece(NamedTuple):
    """A file of runs: to be compiled, or with the answer that is known."""

    source: Source
    text: Text
    answer: Answer | None = None

    @classmethod
    def of(cls, text: Text) -> Piece:
        return cls(Source(text.name, "" if text.is_data else text.text, Layer.RUN), text)

    @classmethod
    def unread(cls, file: Parsed) -> Piece:
        """A file that is nothing but faults."""
        source = next(finding.span.source for finding in file.findings if finding.span)
        return cls(source, Text(source.name, ""), ((to_portable(CompileError(file.findings), "yaml", source, {}),), ()))

    @property
    def weight(self) -> int:
        """About how many runs there are in it."""
        return 1 + self.text.text.count("\n---")


def parsed(text: Text, layer: Layer) -> Parsed:
    """The documents of a text or of data; nothing raises."""
    from speccompile.yaml_text.from_python import wrap
    from speccompile.yaml_text.parse import Parsed, parse  # whoever finds all answers ready needs no parser

    source = Source(text.name, "" if text.is_data else text.text, layer)
    if not text.is_data:
        return parse(source)
    import json

    files = [wrap(document, source) for document in json.loads(text.text)]
    documents = tuple(document for file in files for document in file.documents)
    return Parsed(documents, tuple(finding for file in files for finding in file.findings))


def sources_of(admin: Admin) -> Sources:
    """The texts of the admin, which findings name."""
    profiles = (Source(text.name, text.text, Layer.PROFILE) for text in admin.profiles if not text.is_data)
    platform = admin.platform
    told = (Source(platform.name, platform.text, Layer.PLATFORM),) if platform and not platform.is_data else ()
    templates = (Source(template.name, template.text, Layer.TEMPLATE) for template in admin.templates)
    return sources_by_name((*profiles, *told, *templates))


@lru_cache(maxsize=_SETTINGS)
def setting_of(admin: Admin) -> Setting:
    """The setting that the texts of an admin make; a service or a worker gets the same texts again and again."""
    from speccompile.compiler.bundled_library import library_of
    from speccompile.compiler.documents.admin_config import prepare

    platform = None if admin.platform is None else parsed(admin.platform, Layer.PLATFORM)
    profiles = (parsed(text, Layer.PROFILE) for text in admin.profiles)
    return prepare(profiles, platform, library_of(admin.templates))


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
        return piece.answer or self.compiled(parsed(piece.text, Layer.RUN), piece.source)

    def compiled(self, file: Parsed, source: Source) -> Answer:
        from speccompile.compiler.compile_files import compile_file

        self.profiles.forget()
        results = tuple(
            to_portable(result, self.shape, source, self.known) for result in compile_file(file, self.setting)
        )
        return results, None if self.profiles.asks_all else tuple(self.profiles.asked)


def compiled_again(piece: Piece, number: int, setting: Setting) -> Result:
    """What became of one run of a file, with everything about it: a result that has travelled lacks its trees."""
    from speccompile.compiler.compile_files import compile_file

    return list(compile_file(parsed(piece.text, Layer.RUN), setting))[number]


def compile_chunk(order: Order) -> tuple[str, Any]:
    """What a worker answers: what became of the files, or why it cannot tell."""
    from speccompile.batch.compiler_fingerprint import text_digest

    if order.compiler != text_digest():
        return _OTHER, text_digest()
    try:
        compiler = Compiler.of(setting_of(order.admin), order.shape, sources_of(order.admin))
        return _DONE, tuple(compiler.answer(Piece.of(text)) for text in order.runs)
    except Exception:  # noqa: BLE001  a bug of ours is no fault of the executor, and says so
        import traceback

        return _BUG, traceback.format_exc()


class Crew(NamedTuple):
    """An executor, how many work for it, and a way to ask whether anybody still does."""

    executor: Executor
    workers: int
    is_alive: Callable[[], bool] = lambda: True

    @classmethod
    def of(cls, executor: Executor) -> Crew:
        workers = getattr(executor, "_max_workers", None)
        return cls(executor, workers if isinstance(workers, int) else _WORKERS)


def spread(pieces: Iterable[Piece], admin: Admin, shape: str, crew: Crew) -> Iterator[tuple[Piece, Answer]]:
    """Each piece with its answer, in order; those that have none go to the executor, many at a time.

    Memory holds a few chunks for each worker. Raises ExecutorError if the executor fails.
    """
    from speccompile.batch.compiler_fingerprint import text_digest

    compiler = text_digest()
    waiting: deque[tuple[list[Piece], _Errand | None]] = deque()
    try:
        for chunk in _chunks(pieces, crew.workers):
            texts = tuple(piece.text for piece in chunk if piece.answer is None)
            order = Order(compiler, admin, shape, texts)
            waiting.append((chunk, _Errand(order, _submitted(crew, order)) if texts else None))
            if len(waiting) > _PER_WORKER * crew.workers:
                yield from _answers(*waiting.popleft(), crew)
        while waiting:
            yield from _answers(*waiting.popleft(), crew)
    finally:
        for _, errand in waiting:
            if errand is not None:
                errand.future.cancel()


def _chunks(pieces: Iterable[Piece], workers: int) -> Iterator[list[Piece]]:
    """The pieces in chunks; if there are too few to give everybody a whole one, in smaller ones."""
    stream = iter(pieces)
    first: list[Piece] = []
    total = 0
    for piece in stream:
        first.append(piece)
        total += piece.weight
        if total >= CHUNK * workers:
            break
    size = min(CHUNK, max(1, total // (_PER_WORKER * workers))) if total < CHUNK * workers else CHUNK
    rest = chain(first, stream)
    del first
    chunk: list[Piece] = []
    weight = 0
    for piece in rest:
        chunk.append(piece)
        weight += piece.weight
        if weight >= size:
            yield chunk
            chunk, weight = [], 0
    if chunk:
        yield chunk


class _Errand(NamedTuple):
    """An order that is on its way."""

    order: Order
    future: Future[tuple[str, Any]]


def _submitted(crew: Crew, order: Order) -> Future[tuple[str, Any]]:
    try:
        return crew.executor.submit(compile_chunk, order)
    except Exception as error:
        raise _failed(error) from error


def _answers(chunk: Sequence[Piece], errand: _Errand | None, crew: Crew) -> Iterator[tuple[Piece, Answer]]:
    told = iter(_awaited(errand, crew) if errand is not None else ())
    for piece in chunk:
        yield piece, piece.answer or next(told)


def _awaited(errand: _Errand, crew: Crew) -> Sequence[Answer]:
    order, future = errand
    try:
        state, told = _result(future, crew)
    except ExecutorError:
        # Once more: Dask's own executor can stumble over a worker that is lost with a result just fetched from it.
        state, told = _result(_submitted(crew, order), crew)
    if state == _OTHER:
        raise ExecutorError(
            "a worker has another speccompile than this process: install the same version everywhere "
            f"(digests {told} and {_own_digest()})"
        )
    if state == _BUG:
        raise RuntimeError(f"a worker failed:\n{told}")
    answers: Sequence[Answer] = told
    return answers


def _result(future: Future[tuple[str, Any]], crew: Crew) -> tuple[str, Any]:
    from concurrent.futures import CancelledError

    while True:
        try:
            return future.result(timeout=_PATIENCE)
        except TimeoutError as error:
            if future.done():
                raise _failed(error) from error
            if not crew.is_alive():
                future.cancel()
                raise ExecutorError("the executor has no workers left") from None
        except (Exception, CancelledError) as error:
            raise _failed(error) from error


def _own_digest() -> str:
    from speccompile.batch.compiler_fingerprint import text_digest

    return text_digest()


def _failed(error: BaseException) -> ExecutorError:
    return ExecutorError(f"the executor failed: {type(error).__name__}: {error}".rstrip(": "))
