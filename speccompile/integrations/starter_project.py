"""Files of a new project: schemas, profiles, a run and its manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.documents.admin_config import prepare
from speccompile.editor_schema.export import NOUNS, schema_text
from speccompile.model.findings import CompileError
from speccompile.model.object_names import object_name
from speccompile.model.source import Layer, Source
from speccompile.schema.library import Library
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

_PLATFORM, _PROFILES, _RUNS, _OUTPUT = "platform.yaml", "profiles/", "runs/", "manifests/"
"""The layout of the starter, as in its project file."""
HOOKS = ".pre-commit-config.yaml"
"""The file of the starter that a repository may already have."""
_ENTRIES, _ARGS, _UNQUOTED = "repos:\n", "args: [--]", re.compile(r"[\w./][-\w./]*", re.ASCII)
_SCHEMAS = ".speccompile/"
"""Hidden, so that its files do not count as runs; the first line of each file of the starter refers to it."""


def new_project(texts: Mapping[str, str], library: Library) -> dict[str, str]:
    """Every file by its path in the project. Raises CompileError if the starter has errors, an internal error."""
    schemas = {f"{_SCHEMAS}{noun}.schema.json": schema_text(noun, library) for noun in NOUNS}
    return dict(sorted({**texts, **schemas, **_manifests(texts, library)}.items()))


def hook(texts: Mapping[str, str], project: str | None = None) -> str:
    """The starter's hook as an entry for an existing configuration; `project` is a project file below its root."""
    entry = texts[HOOKS].partition(_ENTRIES)[2]
    word = project if project is None or _UNQUOTED.fullmatch(project) else json.dumps(project)
    return entry.replace(_ARGS, f"args: [--project, {word}, --]") if word else entry


def _manifests(texts: Mapping[str, str], library: Library) -> dict[str, str]:
    (platform,) = _parsed(texts, _PLATFORM, Layer.PLATFORM)
    setting = prepare(_parsed(texts, _PROFILES, Layer.PROFILE), platform, library)
    manifests: dict[str, str] = {}
    for result in compile_files(_parsed(texts, _RUNS, Layer.RUN), setting):
        if isinstance(result, CompileError):
            raise CompileError((*setting.findings, *result.diagnostics))
        manifests[f"{_OUTPUT}{object_name(result.name)}.yaml"] = result.to_yaml()
    return manifests


def _parsed(texts: Mapping[str, str], start: str, layer: Layer) -> list[Parsed]:
    return [parse(Source(name, text, layer)) for name, text in texts.items() if name.startswith(start)]
