"""Compile a unit of work in this process or in a worker, and record which profiles it depends on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from speccompile.batch.compiler_fingerprint import text_digest
from speccompile.batch.wire_format import Sources, to_portable
from speccompile.batch.work_units import UnitOutcome, WorkUnit, sources_of
from speccompile.compiler.compile_files import CompileSource, compile_file, source_compiler
from speccompile.compiler.compiled import Rendered, Result
from speccompile.compiler.documents.admin_config import Setting, parsed, setting_of
from speccompile.files.manifest_text import rendered
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.internal_error import traceback_text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer

DONE, CRASHED, OTHER_VERSION = "done", "bug", "other"
"""The kinds of answers of a worker: results, a traceback, or the fingerprint of another compiler."""


class ChunkTask(NamedTuple):
    """The work for one worker: runs, and what they are compiled with."""

    compiler: str
    admin: AdminTexts
    shape: str
    runs: tuple[Text, ...]


class RecordingProfiles(dict[str, Any]):
    """Profiles by id that record which of them are used; iteration uses all of them."""

    __slots__ = ("used", "uses_all")

    def __init__(self, profiles: Any) -> None:
        super().__init__(profiles)
        self.used: dict[str, None] = {}
        self.uses_all = False

    def reset(self) -> None:
        self.used, self.uses_all = {}, False

    def get(self, key: str, default: Any = None) -> Any:
        self.used[key] = None
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.used[key] = None
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.used[str(key)] = None
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self.uses_all = True
        return super().__iter__()

    def keys(self) -> Any:
        self.uses_all = True
        return super().keys()

    def values(self) -> Any:
        self.uses_all = True
        return super().values()

    def items(self) -> Any:
        self.uses_all = True
        return super().items()

    def __len__(self) -> int:
        self.uses_all = True
        return super().__len__()


class Compiler(NamedTuple):
    """Compiles files, and records which profiles each of them depends on."""

    setting: Setting
    profiles: RecordingProfiles
    shape: str
    sources: Sources
    compile_source: CompileSource

    @classmethod
    def of(cls, setting: Setting, shape: str, sources: Sources) -> Compiler:
        # A copy for this compiler: other threads may use the same setting.
        profiles = RecordingProfiles(setting.profiles)
        setting = setting._replace(profiles=profiles)
        return cls(setting, profiles, shape, sources, source_compiler(setting))

    def compile(self, unit: WorkUnit) -> UnitOutcome:
        """Compile a file, and record the profiles that it depends on."""
        self.profiles.reset()
        results = tuple(to_portable(result, unit.source, self.sources) for result in self.render(unit))
        return results, None if self.profiles.uses_all else tuple(self.profiles.used)

    def render(self, unit: WorkUnit) -> Iterator[Rendered]:
        """Compile each run of a file, with its text and trees."""
        is_data = unit.text.is_data
        results = (
            compile_file(parsed(unit.text, Layer.RUN), self.setting) if is_data else self.compile_source(unit.source)
        )
        return rendered(results, self.shape)

    def recompile(self, unit: WorkUnit, number: int) -> Result:
        """Compile one run of a file for its trees, which packed results lack."""
        return list(compile_file(parsed(unit.text, Layer.RUN), self.setting))[number]


def compile_chunk(task: ChunkTask) -> tuple[str, Any]:
    """The function that workers run: the outcomes of the files, or the reason why there are none."""
    if task.compiler != text_digest():
        return OTHER_VERSION, text_digest()
    try:
        compiler = _compiler_for(task)
        return DONE, tuple(compiler.compile(WorkUnit.of(text)) for text in task.runs)
    except Exception as error:  # noqa: BLE001  an internal error, to be distinguished from a failure of the executor
        return CRASHED, traceback_text(error)


class _LastCompiler(threading.local):
    """The compiler of the last chunk in this thread, which knows the shapes of its runs."""

    setting: Setting | None = None
    compiler: Compiler | None = None


_last = _LastCompiler()


def _compiler_for(task: ChunkTask) -> Compiler:
    setting = setting_of(task.admin)
    compiler = _last.compiler
    if compiler is None or _last.setting is not setting or compiler.shape != task.shape:
        compiler = Compiler.of(setting, task.shape, sources_of(task.admin))
        _last.setting, _last.compiler = setting, compiler
    return compiler
