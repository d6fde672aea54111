"""Read `target.yaml` of a folder of templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from speccompile.compiler.container_resources import amount
from speccompile.compiler.documents.target_checks import (
    TARGET_FILE,
    TargetFindings,
    check_target,
    target_names,
    template_path,
)
from speccompile.compiler.pod_structure import POD_PATHS
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath, parse_path
from speccompile.model.node import Node, Part
from speccompile.model.quantity import QuantityError
from speccompile.model.source import USER_LAYERS, Layer, Source
from speccompile.model.spec import ManifestRule, Merged, RejectRule, Target, WorkloadRule
from speccompile.schema.formats.safe_regex import matches_whole
from speccompile.schema.library import Library, Schema
from speccompile.schema.suggestions import near
from speccompile.schema.validate import validate
from speccompile.yaml_text.parse import parse, several_documents

Condition: TypeAlias = Callable[[Merged], bool]
DEFAULT_TARGET = "kubernetes"
"""The target of runs whose profile sets none."""


@by_identity(64)
def targets_of(library: Library) -> Targets:
    """The targets of the library, read once."""
    return Targets(library)


class Targets(Mapping[str, Target]):
    """The targets of a library by name, each read on first access; those with errors are missing."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.names: Final = target_names(library.templates)
        """Including targets with errors."""
        self._results: dict[str, tuple[Target | None, TargetFindings]] = {}

    def _result(self, name: str) -> tuple[Target | None, TargetFindings]:
        if name not in self._results:
            self._results[name] = _read_target(name, self._library)
        return self._results[name]

    def findings(self) -> TargetFindings:
        """The errors of custom targets; tests check the bundled ones."""
        return tuple(finding for name in self._custom_names() for finding in self._result(name)[1])

    def custom(self) -> Iterator[Target]:
        """The custom targets without errors."""
        return (target for name in self._custom_names() if (target := self._result(name)[0]))

    def _custom_names(self) -> Iterator[str]:
        return (name for name in self.names if self._library.is_custom(f"{name}/{TARGET_FILE}"))

    def __getitem__(self, name: str) -> Target:
        target = self._result(name)[0] if name in self.names else None
        if target is None:
            raise KeyError(name)
        return target

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.names if self._result(name)[0])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def unknown_target(target: Node, library: Library, code: str, path: KeyPath) -> Diagnostic:
    """The error for a target that does not exist."""
    meant = near(str(target.value), targets_of(library))
    return Diagnostic(
        code=code,
        message=f"unknown target {quote(target.value)}",
        span=target.span,
        path=path,
        notes=(Note(f"known targets: {', '.join(f'`{name}`' for name in targets_of(library))}"),),
        help=f"did you mean `{meant}`?"
        if meant
        else "use a known target, or pass its parent directory with --templates",
    )


def _read_target(name: str, library: Library) -> tuple[Target | None, TargetFindings]:
    path = f"{name}/{TARGET_FILE}"
    parsed = parse(Source(library.name_of(path), library.templates[path], Layer.TEMPLATE))
    if not library.is_custom(path):
        # Tests validate the bundled targets, so that calls need not.
        return _target(name, parsed.documents[0].root, library, is_custom=False), ()
    findings = [*parsed.findings, *(several_documents(document, "target") for document in parsed.documents[1:])]
    if not parsed.documents:
        return None, tuple(findings)
    tree, errors = validate(parsed.documents[0].root, "target", library.core)
    findings += errors or check_target(tree, name, library)
    return (None if findings else _target(name, tree, library, is_custom=True)), tuple(findings)


def _target(name: str, tree: Node, library: Library, *, is_custom: bool) -> Target:
    fields = tree.fields
    rows = fields["manifests"].items
    rules = tuple(_manifest_rule(row, name) for row in rows)
    pods, replicas = (
        {str(row.fields["kind"].value): _path(row.fields[key]) for row in rows if key in row.fields}
        for key in ("pod", "replicas")
    )
    return Target(
        name=name,
        fields=_names(tree, "fields"),
        container=_paths(tree, "container"),
        entity_field=str(fields["entity_field"].value) if "entity_field" in fields else None,
        reserved_volumes=_names(tree, "reserved_volumes") or frozenset(),
        images=tuple(_image_paths(name, library)),
        workloads=tuple(_workload_rule(row) for row in fields["workloads"].items),
        manifests=rules,
        rejects=tuple(_reject_rule(row, is_custom=is_custom) for row in fields["reject"].items)
        if "reject" in fields
        else (),
        pods={**POD_PATHS, **pods},
        replicas=replicas,
        bases={rule.kind: _base_versions(rule.kind, rules) for rule in rules if rule.api_version},
    )


def _image_paths(target: str, library: Library) -> Iterator[KeyPath]:
    """The paths of all values with the format of images, in the common fields and in those of the target."""
    pending: list[tuple[KeyPath, Schema]] = [
        ((name,), schema)
        for name, schema in library.fields.items()
        if name == "image" or target in schema.get("x-targets", ())
    ]
    for path, schema in pending:
        if schema.get("format") == "image":
            yield path
        pending += (((*path, key), child) for key, child in schema.get("properties", {}).items())


def _base_versions(kind: str, rules: tuple[ManifestRule, ...]) -> frozenset[str]:
    return frozenset(rule.api_version for rule in rules if rule.kind == kind and rule.api_version)


def _workload_rule(row: Node) -> WorkloadRule:
    fields = row.fields
    return WorkloadRule(
        name=str(fields["name"].value),
        actions=frozenset(str(item.value) for item in fields["actions"].items),
        name_pattern=str(fields["name_pattern"].value),
        max_name_length=int(str(fields["max_name_length"].value)) if "max_name_length" in fields else None,
        letter_first="letter_first" in fields and bool(fields["letter_first"].value),
        required=_paths(row, "requires"),
        applies=_condition(row),
    )


def _manifest_rule(row: Node, target: str) -> ManifestRule:
    fields = row.fields
    return ManifestRule(
        kind=str(fields["kind"].value),
        api_version=str(fields["api_version"].value) if "api_version" in fields else None,
        template=template_path(fields["template"], target),
        workloads=_names(row, "workloads"),
        applies=_condition(row),
        items=_each(fields["each"]) if "each" in fields else lambda _: (None,),
    )


def _each(row: Node) -> Callable[[Merged], Iterable[Node]]:
    """Select the items of a field that satisfy `with` and `where`."""
    field = _path(row.fields["field"])
    required = _paths(row, "with")
    where = _values(row, "where")

    def is_selected(item: Node) -> bool:
        has_all = all(_is_set(item.at(path)) for path in required)
        return has_all and all(_has_value(item.at(path), values) for path, values in where)

    def items(merged: Merged) -> Iterable[Node]:
        node = merged.spec.at(field)
        return () if node is None else [item for item in _items(node) if is_selected(item)]

    return items


def _reject_rule(row: Node, *, is_custom: bool) -> RejectRule:
    fields = row.fields
    run_sets, above, not_in, run_not_in, instead_of, bases = (
        _paths(row, key) for key in ("run_sets", "above", "not_in", "run_not_in", "instead_of", "bases")
    )
    mentioned = (
        *_paths(row, "with"),
        *(parse_path(path) for key in ("matches", "where") if key in fields for path in fields[key].fields),
    )
    applies = _condition(row)

    def find_matches(merged: Merged) -> Iterator[tuple[Node, Node | None]]:
        """Yield the values to report; the run's name if the row is about values that are unset."""
        if not applies(merged):
            return
        pair = tuple(merged.spec.at(path) for path in above or not_in or instead_of)
        if run_sets:
            yield from ((node, None) for path in run_sets if (node := merged.run.fields.at(path)))
        elif above:
            low, high = pair
            if low and high and _is_above(low, high):
                yield (high, low) if high.span.source.layer in USER_LAYERS else (low, high)
        elif not_in:
            yield from ((item, pair[1]) for item in _missing_items(*pair)) if pair[1] else ()
        elif instead_of:
            used, unused = pair
            if used and unused and _is_fixed(unused) and not _is_fixed(used):
                yield used, unused
        elif run_not_in:
            yield from ((item, None) for item in _missing_items(*map(merged.run.fields.at, run_not_in)))
        else:
            nodes = (*map(merged.spec.at, mentioned), *(_base(merged, path) for path in reversed(bases)))
            present = [node for node in nodes if node]
            # A value of the run is preferred, because its author can change it.
            of_run = [node for node in present if node.place.source.layer in USER_LAYERS]
            yield (*of_run, *present, merged.run.name)[0], None

    # Nobody can edit a bundled target, so a note that points to it would not help.
    span = row.span if is_custom else None
    message, help_text = str(fields["message"].value), str(fields["help"].value)
    return RejectRule(_names(row, "workloads"), find_matches, message, help_text, span)


def _is_fixed(node: Node) -> bool:
    """Whether a profile or the platform sets the value, and runs cannot override it."""
    return node.span.source.layer not in USER_LAYERS and node.part is not Part.DEFAULT


def _is_above(low: Node, high: Node) -> bool:
    try:
        return amount(low) > amount(high)
    except QuantityError:
        # The schema reports values that are no amounts.
        return False


def _missing_items(field: Node | None, others: Node | None) -> list[Node]:
    """The value, or the items, of a field that are not among the items of the other."""
    known = [item.fields.get("name", item).value for item in others.items] if others else []
    return [item for item in _items(field) if item.value not in known]


# Keys of a row


def _path(node: Node) -> KeyPath:
    return parse_path(str(node.value))


def _paths(row: Node, key: str) -> tuple[KeyPath, ...]:
    return tuple(_path(item) for item in row.fields[key].items) if key in row.fields else ()


def _names(row: Node, key: str) -> frozenset[str] | None:
    return frozenset(str(item.value) for item in row.fields[key].items) if key in row.fields else None


def _values(row: Node, key: str) -> tuple[tuple[KeyPath, tuple[object, ...]], ...]:
    fields = row.fields[key].fields if key in row.fields else {}
    return tuple((parse_path(path), tuple(item.value for item in _items(node))) for path, node in fields.items())


def _items(node: Node | None) -> tuple[Node, ...]:
    """The items of a list; a single value as one item."""
    return () if node is None else node.items if isinstance(node.value, tuple) else (node,)


def _is_set(node: Node | None) -> bool:
    """Whether there is a value; an empty list or map counts as unset."""
    return node is not None and node.value not in ((), {})


def _has_value(node: Node | None, values: tuple[object, ...]) -> bool:
    """Whether the field, or any of its items, has one of the values."""
    items = () if node is None else node.items if isinstance(node.value, tuple) else (node,)
    return any(type(item.value) is type(value) and item.value == value for item in items for value in values)


# Conditions


def _condition(row: Node) -> Condition:
    """Combine all conditions of the row, which are read once."""
    conditions = [make(row) for key, make in CONDITIONS.items() if key in row.fields]
    return lambda merged: all(condition(merged) for condition in conditions)


def _with(row: Node) -> Condition:
    paths = _paths(row, "with")
    return lambda merged: all(_is_set(merged.spec.at(path)) for path in paths)


def _without(row: Node) -> Condition:
    paths = _paths(row, "without")
    return lambda merged: not any(_is_set(merged.spec.at(path)) for path in paths)


def _where(row: Node) -> Condition:
    values = _values(row, "where")
    return lambda merged: all(_has_value(merged.spec.at(path), known) for path, known in values)


def _unless(row: Node) -> Condition:
    values = _values(row, "unless")
    return lambda merged: not any(_has_value(merged.spec.at(path), known) for path, known in values)


def _matches(row: Node) -> Condition:
    # A line end in a value must not prevent a match.
    patterns = tuple((parse_path(path), f"(?s){node.value}") for path, node in row.fields["matches"].fields.items())
    return lambda merged: all(
        any(matches_whole(pattern, str(item.value)) for item in _items(merged.spec.at(path)))
        for path, pattern in patterns
    )


def _settings(row: Node) -> Condition:
    values = _values(row, "settings")
    return lambda merged: all(_has_value(merged.platform.settings.at(path), known) for path, known in values)


def _with_bases(row: Node) -> Condition:
    paths = _paths(row, "bases")
    return lambda merged: all(_base(merged, path) for path in paths)


def _without_bases(row: Node) -> Condition:
    paths = _paths(row, "no_bases")
    return lambda merged: not any(_base(merged, path) for path in paths)


def _base(merged: Merged, path: KeyPath) -> Node | None:
    """The value at the path (kind first) in the profile's base document, if the target uses its API version."""
    kind = str(path[0])
    base = merged.profile.bases.get(kind) if merged.profile else None
    is_used = base is not None and base.fields["apiVersion"].value in merged.target.bases.get(kind, ())
    return base.at(path[1:]) if base and is_used else None


CONDITIONS: Mapping[str, Callable[[Node], Condition]] = {
    "with": _with,
    "without": _without,
    "where": _where,
    "unless": _unless,
    "matches": _matches,
    "settings": _settings,
    "bases": _with_bases,
    "no_bases": _without_bases,
}
