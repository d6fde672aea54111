"""Signature and docstring of `Function.run`, generated from the schema of runs for `help` and Tab completion."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from speccompile.compiler.compiled import Compiled
from speccompile.schema.library import Library, Schema

_TYPES = {"boolean": bool, "integer": int, "number": float, "object": dict, "string": str}
_ACTION = "action"
_DOCSTRING = """\
Compile one run. Raises CompileError with all findings.

{action}
The other arguments are fields of the run:

{fields}

Keywords of DigitalHub's SDK that do not affect manifests are accepted too.
"""


def run_signature(library: Library) -> Signature:
    """The signature of the method: the action, and every field of a run as a keyword."""
    properties = _properties(library)
    return Signature(
        [
            Parameter("self", Parameter.POSITIONAL_ONLY),
            _parameter(_ACTION, properties[_ACTION], Parameter.POSITIONAL_OR_KEYWORD, library),
            *(
                _parameter(name, schema, Parameter.KEYWORD_ONLY, library)
                for name, schema in properties.items()
                if name != _ACTION
            ),
            Parameter("sdk_keywords", Parameter.VAR_KEYWORD, annotation=Any),
        ],
        return_annotation=Compiled,
    )


def run_docstring(library: Library) -> str:
    """The docstring of the method: one line for each field."""
    lines = {
        # The first sentence; the whole text is in the reference.
        name: f"{name}: {schema['description'].partition('. ')[0].removesuffix('.')}."
        for name, schema in _properties(library).items()
    }
    action = lines.pop(_ACTION)
    return _DOCSTRING.format(action=action, fields="\n".join(lines.values()))


def _properties(library: Library) -> dict[str, Schema]:
    """The fields of every run, without those of single targets."""
    core = library.core
    properties = core.resolve(core.schemas["run"])["properties"]
    return {name: core.resolve(schema) for name, schema in properties.items()}


def _parameter(name: str, schema: Schema, kind: Any, library: Library) -> Parameter:
    return Parameter(name, kind, default=None, annotation=_annotation(schema, library) | None)


def _annotation(schema: Schema, library: Library) -> Any:
    """The Python type for the JSON types of a schema."""
    names = schema.get("type", "object")
    annotations = [_type(name, schema, library) for name in ([names] if isinstance(names, str) else names)]
    union = annotations[0]
    for annotation in annotations[1:]:
        union |= annotation
    return union


def _type(name: str, schema: Schema, library: Library) -> Any:
    if name == "array":
        return list[_annotation(library.core.resolve(schema["items"]), library)]  # type: ignore[misc]
    return _TYPES[name]
