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
"""The layout of the starter, as its own project file has it."""
HOOKS = ".pre-commit-config.yaml"
"""The one file of the starter that a repository may have already."""
_ENTRIES, _ARGS, _PLAIN = "repos:\n", "args: [--]", re.compile(r"[\w./][-\w./]*", re.ASCII)
_SCHEMAS = ".speccompile/"
"""Hidden, so that nobody takes what is in it for runs; the first line of each file of the starter leads there."""


def new_project(texts: Mapping[str, str], library: Library) -> dict[str, str]:
    """Every file by its path in the project. Raises CompileError if the starter has faults, which is one of ours."""
    schemas = {f"{_SCHEMAS}{noun}.schema.json": schema_text(noun, library) for noun in NOUNS}
    return dict(sorted({**texts, **schemas, **_manifests(texts, library)}.items()))


def hook(texts: Mapping[str, str], project: str | None = None) -> str:
    """The starter's hook as an entry for the configuration of a repository; of a project file elsewhere in it."""
    entry = texts[HOOKS].partition(_ENTRIES)[2]
    word = project if project is None or _PLAIN.fullmatch(project) else json.dumps(project)
    return entry.replace(_ARGS, f"args: [--project, {word}, --]") if word else entry


def _manifests(texts: Mapping[str, str], library: Library) -> dict[str, str]:
    (platform,) = _parsed(texts, _PLATFORM, Layer.PLATFORM)
    setting = prepare(_parsed(texts, _PROFILES, Layer.PROFILE), platform, library)
    made: dict[str, str] = {}
    for result in compile_files(_parsed(texts, _RUNS, Layer.RUN), setting):
        if isinstance(result, CompileError):
            raise CompileError((*setting.findings, *result.diagnostics))
        made[f"{_OUTPUT}{object_name(result.name)}.yaml"] = result.to_yaml()
    return made


def _parsed(texts: Mapping[str, str], start: str, layer: Layer) -> list[Parsed]:
    return [parse(Source(name, text, layer)) for name, text in texts.items() if name.startswith(start)]
