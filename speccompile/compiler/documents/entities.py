"""Functions and tasks of DigitalHub, which exported runs refer to."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Document
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Span
from speccompile.schema.library import Library
from speccompile.schema.validate import validate
from speccompile.yaml_text.parsed import Parsed

# Patterns are compiled on use, because most calls need none.
_KIND = r"(?P<runtime>[a-z0-9][-.a-z0-9]*)(?:\+(?P<action>[a-z]+)(?P<run>:run)?)?"
_STORE_KEY = r"store://[^/]+/(?P<type>[a-z]+)/.*"
_REFERENCE = (
    r"(?P<kind>[a-z0-9][-.a-z0-9]*(?:\+[a-z]+)?)://(?P<project>[^/:\s]+)/(?P<name>[^/:\s]+)(?::(?P<version>[^/:\s]+))?"
)
_LATEST = "latest"
_MAX_NOTES = 3
_PROVIDE = (
    "pass its file or directory with --functions, add it to `functions` of the project file, "
    "or put it beside the run, in the same directory or stream"
)
_EXPORT_TASK = "export the task too, with `digitalhub.get_task(ID, project=PROJECT).export()`"
EntityFindings: TypeAlias = tuple[Diagnostic, ...]


OTHER = "other"
"""The type of a project, a model or a data item: nothing that manifests depend on."""


def type_of_entity(root: Node) -> str | None:
    """The type of an exported entity: the layer of a run, a task or a function, or `OTHER`; None for other documents.

    A workflow counts as a function.
    """
    fields = root.fields
    kind, spec = fields.get("kind"), fields.get("spec")
    if kind is None or spec is None or "apiVersion" in fields or not isinstance(kind.value, str):
        return None
    match = re.fullmatch(_KIND, kind.value)
    if match is None or not isinstance(spec.value, Mapping):
        return None
    if match["action"]:
        return Layer.RUN if match["run"] else Layer.TASK
    key = fields.get("key")
    stored = re.fullmatch(_STORE_KEY, key.value) if key and isinstance(key.value, str) else None
    is_function = stored is None or stored["type"] in ("function", "workflow")
    return Layer.FUNCTION if is_function else OTHER


def split_entities(documents: Iterable[Document]) -> tuple[list[Document], list[Document]]:
    """The runs among the documents of a file, and its functions, tasks and other entities."""
    runs: list[Document] = []
    others: list[Document] = []
    for document in documents:
        # Most runs have no kind.
        kind = type_of_entity(document.root) if "kind" in document.root.fields else None
        (runs if kind in (None, Layer.RUN) else others).append(document)
    return runs, others


def _with_letters(parsed: Parsed) -> Parsed:
    """The file without findings about `y` and `n` in entities: PyYAML, which wrote them, means letters."""
    if not any(map(_is_letter, parsed.findings)):
        return parsed
    entities = [document.root.span for document in parsed.documents if type_of_entity(document.root)]
    starts = [span.line for span in entities]

    def is_meant(finding: Diagnostic) -> bool:
        if finding.span is None or not _is_letter(finding):
            return False
        # Documents follow each other, so only the last one that starts before the line can contain it.
        index = bisect_right(starts, finding.span.line) - 1
        return index >= 0 and finding.span.line <= entities[index].end_line

    return parsed._replace(findings=tuple(finding for finding in parsed.findings if not is_meant(finding)))


def _is_letter(finding: Diagnostic) -> bool:
    return finding.code == "yaml/ambiguous-scalar" and finding.message.startswith(_LETTERS)


_LETTERS = ("`y`", "`Y`", "`n`", "`N`")


def as_exported(parsed: Parsed) -> Parsed:
    """The file without findings that do not matter in entities: letters, and timestamps in keys that are not read."""
    if not any(one.code == _AMBIGUOUS for one in parsed.findings):
        return parsed
    unread = {
        (span.line, span.column)
        for document in parsed.documents
        for value in _unread_in(document.root)
        for _, node in value.walk()
        for span in (node.span, node.key)
        if span
    }
    kept = tuple(
        one
        for one in parsed.findings
        if one.code != _AMBIGUOUS or one.span is None or (one.span.line, one.span.column) not in unread
    )
    return _with_letters(parsed._replace(findings=kept))


_AMBIGUOUS = "yaml/ambiguous-scalar"
_UNREAD = ("status", "version", "embedded", "relationships", "extensions")
_READ_METADATA = ("name", "project")


def _unread_in(root: Node) -> Iterator[Node]:
    """The values of an entity that are not read, and when it was created, which is only compared as text."""
    if type_of_entity(root):
        yield from (root.fields[key] for key in _UNREAD if key in root.fields)
        metadata = root.fields["metadata"].fields if "metadata" in root.fields else {}
        yield from (node for key, node in metadata.items() if key not in _READ_METADATA)


class Entity(NamedTuple):
    """A function or task: its fields, and what references to it mention."""

    layer: Layer
    kind: str
    project: str
    name: str
    """For a task, its id."""
    version: str
    created: str
    spec: Node
    place: Span

    @property
    def title(self) -> str:
        """The entity as a reference, in backticks."""
        version = f":{self.version}" if self.layer is Layer.FUNCTION and self.version else ""
        return quote(f"{self.kind}://{self.project}/{self.name}{version}", 120)


EntityKey: TypeAlias = tuple[Layer, str, str, str]
"""Layer, kind, project and name of an entity."""
Entities: TypeAlias = Mapping[EntityKey, tuple[Entity, ...]]
"""Functions and tasks; a function may have several versions."""


def read_entities(
    files: Iterable[Parsed], library: Library, *, beside_runs: Iterable[Parsed] = ()
) -> tuple[Entities, EntityFindings]:
    """Read functions and tasks from files of them, and from files of runs, where other documents are not errors."""
    findings: list[Diagnostic] = []
    entities: dict[EntityKey, tuple[Entity, ...]] = {}
    for file, is_function_file in (*((one, True) for one in files), *((one, False) for one in beside_runs)):
        parsed = as_exported(file)
        findings += parsed.findings if is_function_file else ()
        for document in parsed.documents:
            kind = type_of_entity(document.root)
            if isinstance(kind, Layer) and kind is not Layer.RUN:
                entity, errors = _read_entity(document.root, kind, library)
                findings += errors or _add(entity, entities)
            elif is_function_file and kind is not OTHER:
                findings.append(_wrong_document(document, kind))
    return entities, tuple(findings)


def with_entities(
    entities: Entities, documents: Iterable[Document], library: Library
) -> tuple[Entities, EntityFindings]:
    """The entities with those among the documents of a file of runs."""
    added = Parsed(tuple(documents), ())
    local, findings = read_entities((), library, beside_runs=(added,))
    more = dict(entities)
    findings = (*findings, *(finding for found in local.values() for one in found for finding in _add(one, more)))
    return more, findings


def _read_entity(root: Node, layer: Layer, library: Library) -> tuple[Entity, EntityFindings]:
    root = _in_layer(root, layer)
    tree, findings = validate(root, "function", library)
    fields = tree.fields
    metadata = fields["metadata"].fields if "metadata" in fields else {}

    def text(*keys: str) -> str:
        nodes = (node for key in keys for node in (fields.get(key), metadata.get(key)) if node is not None)
        return next((str(node.value) for node in nodes if node.is_scalar and node.value), "")

    is_task = layer is Layer.TASK
    entity = Entity(
        layer=layer,
        kind=text("kind"),
        project=text("project"),
        name=text("id", "name") if is_task else text("name"),
        version="" if is_task else text("id"),
        created=text("created"),
        spec=fields.get("spec") or root.with_fields({}),
        place=root.fields["kind"].span,
    )
    return entity, findings


def _in_layer(node: Node, layer: Layer) -> Node:
    """The tree with spans in the same text as a source of the layer."""
    source = node.span.source._replace(layer=layer)

    def moved(one: Node) -> Node:
        key = one.key._replace(source=source) if one.key else None
        return one.but(span=one.span._replace(source=source), key=key).mapped(moved)

    return moved(node)


def _add(entity: Entity, entities: dict[EntityKey, tuple[Entity, ...]]) -> Iterator[Diagnostic]:
    key = (entity.layer, entity.kind, entity.project, entity.name)
    known = entities.get(key, ())
    same = next((one for one in known if one.version == entity.version), None)
    if same is None:
        entities[key] = (*known, entity)
    elif same.place != entity.place or not entity.place.line:
        yield Diagnostic(
            code="function/duplicate",
            message=f"two {entity.layer}s are {entity.title}",
            span=entity.place,
            notes=(Note("the other one is here", same.place),),
            help="remove one of the two, or give them different versions (`id`)",
        )


def _wrong_document(document: Document, kind: str | None) -> Diagnostic:
    is_run = kind is Layer.RUN
    return Diagnostic(
        code="input/wrong-document",
        message=f"this is {'a run' if is_run else 'not an exported entity'}, and the file is for functions and tasks",
        span=document.root.fields["kind"].span if is_run else document.root.place,
        help="pass it as an argument, such as `speccompile render run.yaml`" if is_run else _FORM_HELP,
    )


_FORM_HELP = "write a function with `kind`, such as `container`, `name`, `project` and `spec`"


class EntityReference(NamedTuple):
    """A reference to a function or task, as in `container://demo/tool:1`."""

    node: Node
    layer: Layer
    kind: str
    project: str
    name: str
    version: str


def read_reference(node: Node, layer: Layer) -> EntityReference | Diagnostic:
    """Read the reference of a run; anything but a kind, a project, a name and a version is an error."""
    match = re.fullmatch(_REFERENCE, node.value) if isinstance(node.value, str) else None
    is_fit = match is not None and ("+" in match["kind"]) == (layer is Layer.TASK)
    if match is None or not is_fit or {match["project"], match["name"]} & {".", ".."}:
        example = "container+job://demo/ID" if layer is Layer.TASK else "container://demo/train:ID"
        return Diagnostic(
            code="function/reference",
            message=f"{quote(node.value) if node.is_scalar else 'this'} is not a reference to a {layer}",
            span=node.place,
            help=f"write `{example}`",
        )
    return EntityReference(node, layer, match["kind"], match["project"], match["name"], match["version"] or _LATEST)


def find_entity(reference: EntityReference, entities: Entities) -> Entity | Diagnostic:
    """The function or task that a reference names."""
    # An entity without a project belongs to any.
    keys = [(reference.layer, reference.kind, project, reference.name) for project in (reference.project, "")]
    versions = next((entities[key] for key in keys if key in entities), ())
    if reference.layer is Layer.TASK:
        return versions[0] if versions else _unknown(reference, entities)
    if reference.version != _LATEST:
        return next((one for one in versions if one.version == reference.version), None) or _unknown(
            reference, entities
        )
    ages = _ages(versions)
    newest = max(ages, default=None)
    candidates = [one for one, age in zip(versions, ages, strict=True) if age == newest]
    if len(candidates) > 1:
        return Diagnostic(
            code="function/ambiguous",
            message=f"{quote(reference.node.value, 120)} names no version, and the newest one is unknown",
            span=reference.node.span,
            notes=tuple(Note(f"version {quote(one.version)}", one.place) for one in candidates[:_MAX_NOTES]),
            help="add a version to the reference, or `metadata.created` to the functions",
        )
    return candidates[0] if candidates else _unknown(reference, entities)


def _ages(versions: Iterable[Entity]) -> Sequence[str] | Sequence[_Instant]:
    """What orders the versions: the instants at which they were created, or the texts if one is not a time."""
    texts = [one.created for one in versions]
    instants = [_instant(text) if text else _UNKNOWN for text in texts]
    known = [one for one in instants if one]
    return known if len(known) == len(texts) else texts


class _Instant(NamedTuple):
    """A time as seconds and the digits of their fraction, whatever its time zone."""

    seconds: int
    fraction: str


_UNKNOWN = _Instant(-1, "")
"""Before all others."""


def _instant(text: str) -> _Instant | None:
    """The instant of a time in ISO 8601, which is in UTC if it names no time zone; None for another text."""
    match = re.fullmatch(_TIME, text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[name] or 0) for name in _TIME_PARTS)
    # Years that begin in March end with the leap day.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)  # noqa: PLR2004  February
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day
    offset = int(match["hours"] or 0) * 60 + int(match["minutes"] or 0)
    minutes = (days * 24 + hour) * 60 + minute - (-offset if match["sign"] == "-" else offset)
    return _Instant(minutes * 60 + second, (match["fraction"] or "").rstrip("0"))


_TIME = (
    r"(?P<year>[0-9]{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>[0-3][0-9])"
    r"[T ](?P<hour>[0-2][0-9]):(?P<minute>[0-5][0-9])(?::(?P<second>[0-6][0-9])(?:[.,](?P<fraction>[0-9]+))?)?"
    r" ?(?:Z|(?P<sign>[-+])(?P<hours>[0-2][0-9])(?::?(?P<minutes>[0-5][0-9]))?)?"
)
_TIME_PARTS = ("year", "month", "day", "hour", "minute", "second")


def _unknown(reference: EntityReference, entities: Entities) -> Diagnostic:
    similar = (one for found in entities.values() for one in found if _is_similar(one, reference))
    notes = tuple(Note(f"there is {one.title}", one.place) for _, one in zip(range(_MAX_NOTES), similar, strict=False))
    return Diagnostic(
        code="function/unknown",
        message=f"{reference.layer} {quote(reference.node.value, 120)} not found",
        span=reference.node.span,
        notes=notes,
        help=f"{_EXPORT_TASK}, and {_PROVIDE}" if reference.layer is Layer.TASK else _PROVIDE,
    )


def _is_similar(entity: Entity, reference: EntityReference) -> bool:
    return entity.layer is reference.layer and entity.name == reference.name
