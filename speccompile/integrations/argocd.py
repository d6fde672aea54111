"""Parameters of an Argo CD application: read them, and describe them to the user interface."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.findings import stop_if_any
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source
from speccompile.schema.library import Library
from speccompile.schema.validate import validate
from speccompile.yaml_text.parse import parse

VARIABLE = "ARGOCD_APP_PARAMETERS"
_KINDS = {"runs": "array", "profiles": "array", "platform": "string", "project": "string", "strict": "string"}
_BOOLEANS = ("true", "false")


class Parameters(NamedTuple):
    """The parameters of an application; those left out are taken from the project file."""

    runs: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    platform: str | None = None
    project: str | None = None
    strict: bool = False


def read_parameters(text: str, fixed: Collection[str], library: Library) -> Parameters:
    """Read parameters, of which an application must not set the `fixed` ones. Raises CompileError with all findings."""
    if text.strip() in ("", "null"):
        return Parameters()
    # Read as a run, so that secrets in it are redacted.
    parsed = parse(Source(f"<{VARIABLE}>", text, Layer.RUN))
    stop_if_any((*parsed.findings, *map(_second_document, parsed.documents[1:])))
    tree, findings = validate(parsed.documents[0].root, "parameters", library)
    stop_if_any(findings)
    stop_if_any(finding for item in tree.items for finding in _faults(item, fixed))
    values = {str(item.fields["name"].value): _value(item) for item in tree.items}
    return Parameters(
        runs=tuple(values.get("runs", ())),
        profiles=tuple(values.get("profiles", ())),
        platform=_first(values, "platform"),
        project=_first(values, "project"),
        strict=_first(values, "strict") == "true",
    )


def _second_document(document: Document) -> Diagnostic:
    return Diagnostic(
        code="schema/wrong-value",
        message="the parameters must be one document, and this is the second",
        span=document.root.span,
        help="write one list of parameters",
    )


def _value(item: Node) -> list[str]:
    """The values of a parameter without empty ones, which forms send for unset fields."""
    value = item.fields.get(_KINDS[str(item.fields["name"].value)])
    texts = () if value is None else value.items or (value,)
    return [text.value for text in texts if isinstance(text.value, str) and text.value]


def _first(values: Mapping[str, Sequence[str]], name: str) -> str | None:
    return next(iter(values.get(name, ())), None)


def _faults(item: Node, fixed: Collection[str]) -> Iterator[Diagnostic]:
    name = item.fields["name"]
    kind = _KINDS[str(name.value)]
    others = [child for key, child in item.fields.items() if key not in ("name", kind)]
    if others:
        yield Diagnostic(
            code="schema/wrong-type",
            message=f"the value of parameter `{name.value}` must be in `{kind}`",
            span=others[0].key or others[0].span,
            help=f"write it under `{kind}`",
        )
    values = _value(item)
    if values and name.value in fixed:
        yield Diagnostic(
            code="schema/conflict",
            message=f"the plugin fixes parameter `{name.value}`",
            span=name.span,
            help="remove it",
        )
    if name.value == "strict" and values and values[0] not in _BOOLEANS:
        yield Diagnostic(
            code="schema/wrong-value",
            message="expected one of `true`, `false`",
            span=item.fields["string"].span,
        )


def describe_parameters(defaults: Mapping[str, Sequence[str]], ids: Sequence[str]) -> str:
    """Describe the parameters and their defaults as JSON, for the user interface."""
    return json.dumps([_description(name, values, ids) for name, values in defaults.items()], indent=2) + "\n"


def _description(name: str, values: Sequence[str], ids: Sequence[str]) -> dict[str, Any]:
    kind = _KINDS[name]
    tooltips = {
        "runs": "Files and directories, relative to the application's path; without any, the runs of the project file",
        "profiles": f"Files and directories; they define {', '.join(ids)}" if ids else "Files and directories",
        "platform": "The platform file, or the name of a bundled preset; without it, the built-in platform",
    }
    value: Any = list(values) if kind == "array" else next(iter(values), "")
    return {
        "name": name,
        "title": name.capitalize(),
        "tooltip": tooltips[name],
        "collectionType": kind,
        kind: value,
    }
