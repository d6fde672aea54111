"""Convert the flat, Kubernetes-style and entity forms of a run to flat fields."""

from __future__ import annotations

import re
from collections.abc import Mapping

from speccompile.compiler.documents.entities import Entities
from speccompile.compiler.documents.entity_run import read_entity_run
from speccompile.compiler.documents.ignored_keys import ignored_keys
from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.documents import Document, Platform, Runtime
from speccompile.model.findings import has_errors
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.origin import Override
from speccompile.schema.library import Library
from speccompile.schema.validate import describe_value, validate

_API_GROUP = "speccompile.dev/"
_API_VERSION = f"{_API_GROUP}v1alpha1"
_ENVELOPE = {"apiVersion": f": {_API_VERSION}", "kind": ": Run", "metadata": "", "spec": ""}
"""Keys of a Kubernetes-style run, with the values that are the same for all."""
_FORMS_HELP = "write the fields of a run, such as `name`, `action` and `image`"
_LIST_HELP = "write one document per run, separated by `---`"


class Flat(NamedTuple):
    """A run's fields as one mapping, and the facts that its envelope contains; without fields, it is not a run."""

    fields: Node | None
    facts: Mapping[str, Node]
    findings: tuple[Diagnostic, ...]
    runtime: Runtime | None = None
    """The runtime of an exported run."""
    replaced: tuple[Override, ...] = ()


def flatten(document: Document, entities: Entities, platform: Platform, library: Library) -> Flat:
    """Convert a run to flat fields; an exported run gets those of the function and the task that it names."""
    root = document.root
    if not isinstance(root.value, Mapping):
        help_text = _LIST_HELP if isinstance(root.value, tuple) else _FORMS_HELP
        return _refuse(root, f"expected a run, found {describe_value(root.plain())}", help_text)
    root = root.with_fields(
        {
            key: child
            for key, child in root.fields.items()
            if child.value is not None or key not in ("apiVersion", "kind")
        }
    )
    kind, version = root.fields.get("kind"), root.fields.get("apiVersion")
    if kind is None and version is None:
        return Flat(root, {}, ())
    is_run = kind is not None and kind.value == "Run"
    if version is not None and not str(version.value).startswith(_API_GROUP):
        message = f"expected `apiVersion: {_API_VERSION}`" if is_run else "this is a Kubernetes manifest, not a run"
        flat = _refuse(version, message, f"write `apiVersion: {_API_VERSION}`" if is_run else _FORMS_HELP)
    elif is_run or version is not None:
        flat = _flatten_kubernetes(root, library)
    else:
        run = read_entity_run(root, entities, platform, library)
        if run.spec is None:
            flat = Flat(None, {}, run.findings)
        else:
            flat = _join(run.spec, run.moved, run.facts, run.findings)._replace(
                runtime=run.runtime, replaced=run.replaced
            )
    if has_errors(flat.findings):
        from speccompile.compiler.documents.wrong_document import wrong_document  # most runs have no errors

        wrong = wrong_document(root, "run", library)
        return Flat(None, {}, (wrong,)) if wrong else flat
    return flat


def _refuse(node: Node, message: str, help_text: str) -> Flat:
    return Flat(None, {}, (Diagnostic(code="run/unknown-form", message=message, span=node.span, help=help_text),))


def without_tool_annotations(root: Node) -> tuple[Node, Mapping[KeyPath, Node]]:
    """Split a Kubernetes-style run into the run without annotations of tools, and these annotations by path."""
    metadata = root.fields.get("metadata")
    annotations = metadata.fields.get("annotations") if metadata else None
    if metadata is None or annotations is None:
        return root, {}
    of_tools = {key: node for key, node in annotations.fields.items() if re.match(_TOOL_ANNOTATION, key)}
    if not of_tools:
        return root, {}
    others = {key: node for key, node in annotations.fields.items() if key not in of_tools}
    fields = {**metadata.fields, "annotations": annotations.with_fields(others)}
    if not others:
        del fields["annotations"]
    path: KeyPath = ("metadata", "annotations")
    return root.with_fields({**root.fields, "metadata": metadata.with_fields(fields)}), {
        (*path, key): node for key, node in of_tools.items()
    }


_TOOL_ANNOTATION = (
    r"(?:internal\.)?config\.(?:kubernetes|k8s)\.io/|kustomize\.config\.k8s\.io/"
    r"|internal\.kpt\.dev/|postrenderer\.helm\.sh/"
)
"""Annotations of Kustomize, kpt and Helm, such as the path of a document or the function to run on it."""


def _flatten_kubernetes(root: Node, library: Library) -> Flat:
    if "spec" not in root.fields and "action" in root.fields:
        message = "a run of `kind: Run` has its fields under `spec` and its name under `metadata`"
        return _refuse(root, message, "remove `apiVersion` and `kind`, or move the fields")
    root, ignored = without_tool_annotations(root)
    envelope, findings = validate(root, "kubernetes", library)
    if missing := [f"`{key}{value}`" for key, value in _ENVELOPE.items() if key not in root.fields]:
        help_text = f"add {', '.join(missing)}"
        findings = tuple(found if found.path else found._replace(help=help_text) for found in findings)
    metadata = envelope.fields.get("metadata")
    fields = metadata.fields if metadata else {}
    moved, facts = ({key: fields[key] for key in keys if key in fields} for keys in (_MOVED, _FACTS))
    spec = envelope.fields.get("spec") or envelope.with_fields({})
    return _join(spec, moved, facts, (*findings, *ignored_keys(ignored)))


_MOVED = ("name", "labels", "annotations")
_FACTS = ("namespace",)
"""Keys of `metadata` that are not fields of the run."""


def _join(spec: Node, moved: Mapping[str, Node], facts: Mapping[str, Node], findings: tuple[Diagnostic, ...]) -> Flat:
    """Join the fields under `spec` with those of the envelope."""
    inner = {key: child for key, child in spec.fields.items() if child.value is not None or key not in moved}
    duplicates = tuple(
        Diagnostic(
            code="schema/duplicate-spelling",
            message=f"`{key}` is set both outside and inside `spec`",
            span=inner[key].key or inner[key].span,
            path=(key,),
            notes=(Note("also here", child.key),),
            help="remove one of the two",
        )
        for key, child in moved.items()
        if key in inner
    )
    return Flat(spec.with_fields({**inner, **moved}), facts, (*findings, *duplicates))
