"""Compile run specs into Kubernetes manifests, with every value traced to its source."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers treat it as True; importing it from `typing` would slow down every import
if TYPE_CHECKING:
    from typing import Any

    from speccompile.api import Function, compile_many, compile_run
    from speccompile.batch.executor_error import ExecutorError
    from speccompile.compiler.compiled import Compiled
    from speccompile.compiler.explain import Explanation, Line, Overridden
    from speccompile.files.find_project import Project
    from speccompile.files.project_file import load_project
    from speccompile.model.diagnostic import Diagnostic, Note, Severity
    from speccompile.model.findings import CompileError
    from speccompile.model.manifest import Manifest
    from speccompile.model.origin import Origin, Override
    from speccompile.model.source import Layer, Span

__all__ = [
    "CompileError",
    "Compiled",
    "Diagnostic",
    "ExecutorError",
    "Explanation",
    "Function",
    "Layer",
    "Line",
    "Manifest",
    "Note",
    "Origin",
    "Overridden",
    "Override",
    "Project",
    "Severity",
    "Span",
    "compile_many",
    "compile_run",
    "load_project",
]

_HOMES = {
    "CompileError": "model.findings",
    "Compiled": "compiler.compiled",
    "Diagnostic": "model.diagnostic",
    "ExecutorError": "batch.executor_error",
    "Explanation": "compiler.explain",
    "Function": "api",
    "Layer": "model.source",
    "Line": "compiler.explain",
    "Overridden": "compiler.explain",
    "Manifest": "model.manifest",
    "Note": "model.diagnostic",
    "Origin": "model.origin",
    "Override": "model.origin",
    "Project": "files.find_project",
    "Severity": "model.diagnostic",
    "Span": "model.source",
    "compile_many": "api",
    "compile_run": "api",
    "load_project": "files.project_file",
}


def __getattr__(name: str) -> Any:
    # Names are imported when they are used: `speccompile --help` does not need the compiler.
    if name not in _HOMES:
        raise AttributeError(f"module 'speccompile' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"speccompile.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
