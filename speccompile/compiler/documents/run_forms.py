"""Convert the flat, Kubernetes-style and entity forms of a run to flat fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, Note, Severity
from speccompile.model.documents import Document
from speccompile.model.findings import has_errors
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.key_spelling import spelled
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.schema.library import Library
from speccompile.schema.validate import describe_value, validate

_ENTITY = r"(?P<runtime>[-.A-Za-z0-9]+)\+(?P<action>[a-z]+):run"
_FUNCTION = r"[^:/]+://[^/]+/(?P<name>[^/:]+)(?::[^/:]*)?"
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


def flatten(document: Document, used_facts: Collection[str], library: Library) -> Flat:
    """Convert a run to flat fields. Facts in `used_facts` are not reported as ignored."""
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
        flat = _flatten_entity(root, used_facts, library)
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
    return _join(envelope, moved, facts, (*findings, *_ignored_notice(ignored)))


_MOVED = ("name", "labels", "annotations")
_FACTS = ("namespace",)
"""Keys of `metadata` that are not fields of the run."""


def _flatten_entity(root: Node, used_facts: Collection[str], library: Library) -> Flat:
    envelope, findings = validate(root, "entity", library)
    fields = envelope.fields
    moved: dict[str, Node] = {}
    metadata = fields["metadata"].fields if "metadata" in fields else {}
    if name := fields.get("name") or metadata.get("name") or fields.get("id"):
        moved["name"] = name
    if project := fields.get("project") or metadata.get("project"):
        moved["project"] = project
    kind = fields.get("kind")
    facts = dict(_entity_facts(envelope))
    if kind and (match := re.fullmatch(_ENTITY, str(kind.value))):
        moved["action"] = kind.but(value=match["action"], derived="the action in `kind`")
        facts["runtime"] = kind.but(value=match["runtime"], derived="the runtime in `kind`")
    ignored = _ignored_keys(envelope, library)
    spec = {
        key: child.with_fields({name: node for name, node in child.fields.items() if ("spec", name) not in ignored})
        for key, child in fields.items()
        if key == "spec"
    }
    unused = {path: node for path, node in ignored.items() if path[-1] not in facts or path[-1] not in used_facts}
    return _join(envelope.with_fields(spec), moved, facts, (*findings, *_ignored_notice(unused)))


def _entity_facts(envelope: Node) -> Iterator[tuple[str, Node]]:
    """The facts that name patterns and labels can use; of a function's key, only the name."""
    for name, path in (("id", ("id",)), ("user", ("user",)), ("function", ("spec", "function"))):
        node = envelope.at(path)
        if node is not None and isinstance(node.value, str) and node.value:
            match = re.fullmatch(_FUNCTION, node.value) if name == "function" else None
            yield name, node.but(value=match["name"], derived="the name in `function`") if match else node


def _join(
    envelope: Node,
    moved: Mapping[str, Node],
    facts: Mapping[str, Node],
    findings: tuple[Diagnostic, ...],
) -> Flat:
    """Join the fields under `spec` with those of the envelope."""
    spec = envelope.fields.get("spec")
    fields = spec.fields if spec else {}
    inner = {key: child for key, child in fields.items() if child.value is not None or key not in moved}
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
    return Flat(envelope.with_fields({**inner, **moved}), facts, (*findings, *duplicates))


def _ignored_keys(envelope: Node, library: Library) -> Mapping[KeyPath, Node]:
    """The keys that only the exporting platform uses, by path."""
    known = library.schemas["entity"]["properties"]

    def is_ignored(path: KeyPath) -> bool:
        match path:
            case ("metadata", key):
                return key not in known["metadata"]["properties"] or key in envelope.fields
            case ("spec", key):
                return spelled(str(key), known["spec"]["properties"]) in known["spec"]["properties"]
            case (key,):
                return bool(known.get(key, {}).get("x-ignored"))
        return False

    return {path: node for path, node in envelope.walk() if is_ignored(path)}


def _ignored_notice(ignored: Mapping[KeyPath, Node]) -> Iterator[Diagnostic]:
    if ignored:
        first = min((node.key or node.span for node in ignored.values()), key=lambda span: (span.line, span.column))
        listed = ", ".join(f"`{name}`" for name in sorted(map(format_path, ignored)))
        yield Diagnostic(
            code="run/ignored-key",
            message=f"ignored keys that do not affect the manifests: {listed}",
            span=first,
            severity=Severity.NOTICE,
        )
