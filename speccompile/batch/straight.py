"""The straight path of a call: compile every file in this process, one after the other."""

from __future__ import annotations

from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Results
from speccompile.compiler.duplicate_objects import ClaimStore
from speccompile.files.manifest_text import rendered
from speccompile.files.work import Work


def compile_here(work: Work, shape: str, memory: ClaimStore) -> Results:
    """Compile the runs of a call."""
    return work.setting.findings, rendered(compile_files(work.texts, work.setting, memory), shape)
