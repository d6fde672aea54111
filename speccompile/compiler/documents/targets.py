"""Read `target.yaml` of a folder of templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from speccompile.compiler.container_resources import amount
from speccompile.compiler.documents.target_checks import ABOUT, Findings, faults_of, names_in, template_of
from speccompile.compiler.pod_structure import POD_PATHS
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath, parse_path
from speccompile.model.node import Node
from speccompile.model.quantity import QuantityError
from speccompile.model.source import Layer, Source
from speccompile.model.spec import Making, Merged, Refusal, Target, Workload
from speccompile.schema.formats.safe_regex import matches
from speccompile.schema.library import Library
from speccompile.schema.validate import validate
from speccompile.yaml_text.parse import parse, several_documents

Check: TypeAlias = Callable[[Merged], bool]
DEFAULT_TARGET = "kubernetes"
"""The target of runs whose profile names none."""


@by_identity(64)
def targets_of(library: Library) -> Targets:
    """The targets among the library's templates, read once."""
    return Targets(library)


class Targets(Mapping[str, Target]):
    """The targets of a library by name, each read when first asked for; those with faults are not there."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.named: Final = names_in(library.templates)
        """Those with faults too."""
        self._read: dict[str, tuple[Target | None, Findings]] = {}

    def _known(self, name: str) -> tuple[Target | None, Findings]:
        if name not in self._read:
            self._read[name] = _read_target(name, self._library)
        return self._read[name]

    def faults(self) -> Findings:
        """What is wrong with targets that admins wrote; the bundled ones are good, which tests see to."""
        own = [name for name in self.named if self._library.is_own(f"{name}/{ABOUT}")]
        return tuple(finding for name in own for finding in self._known(name)[1])

    def __getitem__(self, name: str) -> Target:
        target = self._known(name)[0] if name in self.named else None
        if target is None:
            raise KeyError(name)
        return target

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.named if self._known(name)[0])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _read_target(name: str, library: Library) -> tuple[Target | None, Findings]:
    path = f"{name}/{ABOUT}"
    parsed = parse(Source(library.name_of(path), library.templates[path], Layer.TEMPLATE))
    if not library.is_own(path):
        # Tests have read it as if it were somebody's own, and every call would pay for doing so again.
        return _target(name, parsed.documents[0].root, is_own=False), ()
    findings = [*parsed.findings, *(several_documents(document, "target") for document in parsed.documents[1:])]
    if not parsed.documents:
        return None, tuple(findings)
    tree, found = validate(parsed.documents[0].root, "target", library.core)
    findings += found or faults_of(tree, name, library)
    return (None if findings else _target(name, tree, is_own=True)), tuple(findings)


def _target(name: str, tree: Node, *, is_own: bool) -> Target:
    told = tree.fields
    rows = told["manifests"].items
    pods = {str(row.fields["kind"].value): _path(row.fields["pod"]) for row in rows if "pod" in row.fields}
    return Target(
        name=name,
        fields=frozenset(str(item.value) for item in told["fields"].items) if "fields" in told else None,
        container=tuple(_path(item) for item in told["container"].items) if "container" in told else (),
        workloads=tuple(_workload(row) for row in told["workloads"].items),
        makings=tuple(_making(row, name) for row in rows),
        refusals=tuple(_refusal(row, is_own=is_own) for row in told["refuse"].items) if "refuse" in told else (),
        pods={**POD_PATHS, **pods},
        bases={
            str(row.fields["kind"].value): str(row.fields["api_version"].value)
            for row in rows
            if "api_version" in row.fields
        },
    )


def _path(node: Node) -> KeyPath:
    return parse_path(str(node.value))


def _paths(row: Node, key: str) -> tuple[KeyPath, ...]:
    listed = row.fields.get(key)
    return tuple(_path(item) for item in listed.items) if listed else ()


def _workload(row: Node) -> Workload:
    told = row.fields
    return Workload(
        called=str(told["called"].value),
        actions=frozenset(str(item.value) for item in told["actions"].items),
        name=str(told["name"].value),
        longest=int(str(told["longest"].value)) if "longest" in told else None,
        letter="letter" in told and bool(told["letter"].value),
        needs=_paths(row, "needs"),
        holds=_condition(row),
    )


def _making(row: Node, name: str) -> Making:
    told = row.fields
    return Making(
        kind=str(told["kind"].value),
        template=template_of(told["template"], name),
        workloads=_names(row, "workloads"),
        holds=_condition(row),
        items=_each(told["each"]) if "each" in told else lambda _: (None,),
    )


def _names(row: Node, key: str) -> frozenset[str] | None:
    return frozenset(str(item.value) for item in row.fields[key].items) if key in row.fields else None


def _each(told: Node) -> Callable[[Merged], Iterable[Node]]:
    """What gives the items of a field that have what is asked of them."""
    field = _path(told.fields["field"])
    wanted = _paths(told, "with")
    where = _values(told, "where")

    def is_wanted(item: Node) -> bool:
        has_all = all(_is_there(item.at(path)) for path in wanted)
        return has_all and all(_says(item.at(path), values) for path, values in where)

    def items(merged: Merged) -> Iterable[Node]:
        node = merged.spec.at(field)
        if node is None:
            return ()
        return [item for item in (node.items if isinstance(node.value, tuple) else (node,)) if is_wanted(item)]

    return items


def _refusal(row: Node, *, is_own: bool) -> Refusal:
    told = row.fields
    said, above, not_in, not_own, bases = (_paths(row, key) for key in ("says", "above", "not_in", "not_own", "bases"))
    about = (*_paths(row, "with"), *(path for key in ("matches", "where") for path in _keys(row, key)))
    holds = _condition(row)

    def found(merged: Merged) -> Iterator[tuple[Node, Node | None]]:
        """Where it is wrong; the run's name where nothing is there that could be pointed at."""
        if not holds(merged):
            return
        pair = tuple(merged.spec.at(path) for path in above or not_in)
        if said:
            yield from ((node, None) for path in said if (node := merged.run.fields.at(path)))
        elif above:
            low, high = pair
            if low and high and _is_above(low, high):
                yield (high, low) if high.span.source.layer is Layer.RUN else (low, high)
        elif not_in:
            yield from ((item, pair[1]) for item in _strangers(*pair)) if pair[1] else ()
        elif not_own:
            yield from ((item, None) for item in _strangers(*map(merged.run.fields.at, not_own)))
        else:
            told = (*map(merged.spec.at, about), *(_base(merged, path) for path in reversed(bases)))
            there = [node for node in told if node]
            # What the run itself says is what its author can change.
            by_run = [node for node in there if node.place.source.layer is Layer.RUN]
            yield (*by_run, *there, merged.run.name)[0], None

    # The words of a bundled target say enough; nobody can change its lines.
    written = row.span if is_own else None
    return Refusal(_names(row, "workloads"), found, str(told["message"].value), str(told["help"].value), written)


def _is_above(low: Node, high: Node) -> bool:
    try:
        return amount(low) > amount(high)
    except QuantityError:
        # What is no amount is for the schema to refuse, and compares with nothing.
        return False


def _strangers(some: Node | None, many: Node | None) -> list[Node]:
    """What one, or a list, says that is no item of the other."""
    known = [item.fields.get("name", item).value for item in many.items] if many else []
    wanted = () if some is None else some.items if isinstance(some.value, tuple) else (some,)
    return [item for item in wanted if item.value not in known]


def _values(row: Node, key: str) -> tuple[tuple[KeyPath, tuple[object, ...]], ...]:
    told = row.fields.get(key)
    return tuple(
        (parse_path(path), tuple(item.value for item in node.items) if isinstance(node.value, tuple) else (node.value,))
        for path, node in (told.fields.items() if told else ())
    )


def _is_there(node: Node | None) -> bool:
    """Whether anything is said: an empty list or map says nothing."""
    return node is not None and node.value not in ((), {})


def _keys(row: Node, key: str) -> tuple[KeyPath, ...]:
    return tuple(parse_path(path) for path in row.fields[key].fields) if key in row.fields else ()


def _says(node: Node | None, values: tuple[object, ...]) -> bool:
    """Whether it is one of the values; of a list, whether any of its items is."""
    items = () if node is None else node.items if isinstance(node.value, tuple) else (node,)
    return any(type(item.value) is type(value) and item.value == value for item in items for value in values)


def _condition(row: Node) -> Check:
    """Whether all holds that the row asks for; what it asks is read once."""
    checks = [make(row) for word, make in CONDITIONS.items() if word in row.fields]
    return lambda merged: all(check(merged) for check in checks)


def _with(row: Node) -> Check:
    paths = _paths(row, "with")
    return lambda merged: all(_is_there(merged.spec.at(path)) for path in paths)


def _without(row: Node) -> Check:
    paths = _paths(row, "without")
    return lambda merged: not any(_is_there(merged.spec.at(path)) for path in paths)


def _where(row: Node) -> Check:
    values = _values(row, "where")
    return lambda merged: all(_says(merged.spec.at(path), known) for path, known in values)


def _unless(row: Node) -> Check:
    values = _values(row, "unless")
    return lambda merged: not any(_says(merged.spec.at(path), known) for path, known in values)


def _matches(row: Node) -> Check:
    patterns = tuple((parse_path(path), str(node.value)) for path, node in row.fields["matches"].fields.items())
    return lambda merged: all(_is_match(merged.spec.at(path), pattern) for path, pattern in patterns)


def _is_match(node: Node | None, pattern: str) -> bool:
    items = () if node is None else node.items if isinstance(node.value, tuple) else (node,)
    return any(matches(pattern, str(item.value)) for item in items)


def _settings(row: Node) -> Check:
    values = _values(row, "settings")
    return lambda merged: all(_says(merged.platform.settings.at(path), known) for path, known in values)


def _with_bases(row: Node) -> Check:
    paths = _paths(row, "bases")
    return lambda merged: all(_base(merged, path) for path in paths)


def _without_bases(row: Node) -> Check:
    paths = _paths(row, "no_bases")
    return lambda merged: not any(_base(merged, path) for path in paths)


def _base(merged: Merged, path: KeyPath) -> Node | None:
    kind = str(path[0])
    base = merged.profile.bases.get(kind) if merged.profile else None
    is_ours = base is not None and base.fields["apiVersion"].value == merged.target.bases.get(kind)
    return base.at(path[1:]) if base and is_ours else None


CONDITIONS: Mapping[str, Callable[[Node], Check]] = {
    "with": _with,
    "without": _without,
    "where": _where,
    "unless": _unless,
    "matches": _matches,
    "settings": _settings,
    "bases": _with_bases,
    "no_bases": _without_bases,
}
