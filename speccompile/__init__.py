"""Takes run specs, gives Kubernetes manifests in which every value knows where it came from."""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it, without importing `typing` for whoever imports this package
if TYPE_CHECKING:
    from typing import Any

    from speccompile.api import Function, compile_many, compile_run
    from speccompile.chunks import ExecutorError
    from speccompile.compiled import Compiled
    from speccompile.diagnostics import CompileError, Diagnostic, Note, Severity
    from speccompile.explain import Explanation, Line, Lost
    from speccompile.model import Layer, Manifest, Origin, Override, Span
    from speccompile.project import Project, load_project

__all__ = [
    "CompileError",
    "Compiled",
    "Diagnostic",
    "ExecutorError",
    "Explanation",
    "Function",
    "Layer",
    "Line",
    "Lost",
    "Manifest",
    "Note",
    "Origin",
    "Override",
    "Project",
    "Severity",
    "Span",
    "compile_many",
    "compile_run",
    "load_project",
]

_HOMES = {
    "CompileError": "diagnostics",
    "Compiled": "compiled",
    "Diagnostic": "diagnostics",
    "ExecutorError": "chunks",
    "Explanation": "explain",
    "Function": "api",
    "Layer": "model",
    "Line": "explain",
    "Lost": "explain",
    "Manifest": "model",
    "Note": "diagnostics",
    "Origin": "model",
    "Override": "model",
    "Project": "project",
    "Severity": "diagnostics",
    "Span": "model",
    "compile_many": "api",
    "compile_run": "api",
    "load_project": "project",
}


def __getattr__(name: str) -> Any:
    # `speccompile --help` imports this package too, and must not pay for the compiler.
    if name not in _HOMES:
        raise AttributeError(f"module 'speccompile' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"speccompile.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
