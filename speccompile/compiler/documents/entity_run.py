"""Runs as DigitalHub exports them, joined with the function and the task that they name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from speccompile.compiler.choose_manifests import actions_of, applicable_fields
from speccompile.compiler.documents.entities import Entities, Entity, EntityReference, find_entity, read_reference
from speccompile.compiler.documents.entity_values import read_values
from speccompile.compiler.documents.ignored_keys import ignored_keys
from speccompile.compiler.documents.targets import targets_of
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.documents import Platform, Runtime
from speccompile.model.key_path import KeyPath
from speccompile.model.key_spelling import spelled
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, Part
from speccompile.model.origin import Override
from speccompile.model.source import BUILT_IN, Layer
from speccompile.model.spec import Target
from speccompile.schema.library import Library, Schema
from speccompile.schema.suggestions import near, unknown_key
from speccompile.schema.validate import validate

_RUN_KIND = r"(?P<runtime>[-.A-Za-z0-9]+)\+(?P<action>[a-z]+):run"
_REFERENCES = {"function": Layer.FUNCTION, "workflow": Layer.FUNCTION, "task": Layer.TASK}
"""Keys of a run that refer to other entities."""
_EMPTY: tuple[object, ...] = ((), {}, "")
"""Values that DigitalHub treats as unset."""


class EntityRun(NamedTuple):
    """An exported run with the fields of its function and task; without `spec`, it cannot be compiled."""

    spec: Node | None
    findings: tuple[Diagnostic, ...]
    moved: Mapping[str, Node] = MappingProxyType({})
    """Its name, project and action, which are outside `spec`."""
    facts: Mapping[str, Node] = MappingProxyType({})
    runtime: Runtime | None = None
    replaced: tuple[Override, ...] = ()


def read_entity_run(root: Node, entities: Entities, platform: Platform, library: Library) -> EntityRun:
    """Join an exported run with the function and the task that it names, in the platform's order.

    A task sets what the run leaves open, and a function overrides both.
    """
    envelope, findings = validate(root, "entity", library)
    kind = envelope.fields.get("kind")
    match = re.fullmatch(_RUN_KIND, str(kind.value)) if kind else None
    if kind is None or match is None or "spec" not in envelope.fields:
        return EntityRun(None, findings)
    runtime = platform.runtimes.get(match["runtime"])
    if runtime is None:
        return EntityRun(None, (_unknown_runtime(kind, match["runtime"], platform),))
    target = targets_of(library).get(str(runtime.target.value))
    if target is not None and match["action"] not in actions_of(target):
        return EntityRun(None, (_unsupported_action(kind, match["runtime"], match["action"], target),))
    references, errors = _references(envelope, match["runtime"], match["action"])
    named, unresolved = _resolve(references, entities)
    spec, reported, replaced = _join(envelope, named, runtime, library)
    project = project_of(_from_envelope(envelope).get("project") or spec.fields.get("project"), platform, library)
    findings = (*findings, *errors, *unresolved, *_mismatches(references, named, project))
    spec, ignored = _for_action(spec, match["action"], target, library)
    action = kind.but(value=match["action"], derived="the action in `kind`")
    facts = dict(_facts(envelope, references))
    facts["runtime"] = kind.but(value=match["runtime"], derived="the runtime in `kind`")
    moved = {**_from_envelope(envelope), "action": action}
    return EntityRun(spec, (*findings, *reported, *ignored), moved, facts, runtime, tuple(replaced))


def project_of(written: Node | None, platform: Platform, library: Library) -> Node:
    """The project that the platform fixes, or that the run names."""
    fixed = platform.settings.fields.get("project")
    if fixed is not None:
        return fixed.but(overridden=(), weak=False).overriding(written) if written else fixed.but(weak=False)
    default = library.schemas["run"]["properties"]["project"]["default"]
    return written or Node(default, BUILT_IN, part=Part.DEFAULT)


def _unknown_runtime(kind: Node, runtime: str, platform: Platform) -> Diagnostic:
    known = ", ".join(f"`{one}`" for one in platform.runtimes)
    return Diagnostic(
        code="run/not-compiled",
        message=f"runs of runtime {quote(runtime)} are not compiled on this platform",
        span=kind.span,
        path=("kind",),
        notes=(Note(f"the platform's runtimes are {known}"),),
        help=("run it on DigitalHub" if len(platform.runtimes) > 1 else "use the preset `digitalhub`")
        + ", or add the runtime to `runtimes` of the platform file",
    )


def _unsupported_action(kind: Node, runtime: str, action: str, target: Target) -> Diagnostic:
    return Diagnostic(
        code="run/not-compiled",
        message=f"action {quote(action)} of runtime {quote(runtime)} is not compiled",
        span=kind.span,
        path=("kind",),
        help=_BUILD_HELP
        if action == "build"
        else f"use action {' or '.join(f'`{one}`' for one in sorted(actions_of(target)))}",
    )


_BUILD_HELP = "build the image in CI, and set `image` on the function"


def _references(envelope: Node, runtime: str, action: str) -> tuple[list[EntityReference], list[Diagnostic]]:
    read = [
        read_reference(node, layer)
        for key, layer in _REFERENCES.items()
        if (node := envelope.at(("spec", key))) is not None and node.value is not None
    ]
    references = [one for one in read if isinstance(one, EntityReference)]
    expected = {Layer.FUNCTION: runtime, Layer.TASK: f"{runtime}+{action}"}
    errors = [one for one in read if isinstance(one, Diagnostic)]
    errors += [
        Diagnostic(
            code="function/reference",
            message=f"a run of {quote(f'{runtime}+{action}')} cannot use a {one.layer} of {quote(one.kind)}",
            span=one.node.span,
            path=("spec", str(one.layer)),
            notes=(Note("set here", envelope.fields["kind"].span),),
            help=f"name a {one.layer} of {quote(expected[one.layer])}",
        )
        for one in references
        if one.kind != expected[one.layer]
    ]
    return [one for one in references if one.kind == expected[one.layer]], errors


def _resolve(references: list[EntityReference], entities: Entities) -> tuple[dict[Layer, Entity], list[Diagnostic]]:
    found = [(one.layer, find_entity(one, entities)) for one in references]
    named = {layer: entity for layer, entity in found if isinstance(entity, Entity)}
    return named, [one for _, one in found if isinstance(one, Diagnostic)]


def _mismatches(
    references: list[EntityReference], named: Mapping[Layer, Entity], project: Node
) -> Iterator[Diagnostic]:
    for one in references:
        yield from _other_project(one, named.get(one.layer), project)
    used, *others = [one for one in references if one.layer is Layer.FUNCTION] or (None,)
    for other in others:
        yield Diagnostic(
            code="function/reference",
            message="the run names a function and a workflow, and it can have only one of them",
            span=other.node.place,
            path=("spec", "workflow"),
            notes=(Note("the function is named here", used.node.span),) if used else (),
            help="remove `function` or `workflow`",
        )
    if used:
        yield from _task_of_another(used, named.get(Layer.TASK))
        yield from _nested_references(used, named.get(Layer.FUNCTION))


def _other_project(reference: EntityReference, entity: Entity | None, project: Node) -> Iterator[Diagnostic]:
    layer = reference.layer
    if reference.project != str(project.value):
        is_default = project.part is Part.DEFAULT
        is_set = () if is_default else (Note("the run's project is set here", project.span),)
        place = (Note(f"the {layer} is here", entity.place),) if entity else ()
        yield Diagnostic(
            code="function/reference",
            message=f"the {layer} belongs to project {quote(reference.project)}, "
            f"and the run to project {quote(project.value)}",
            span=reference.node.span,
            path=("spec", str(layer)),
            notes=(*is_set, *place),
            help=f"add {quote(f'project: {reference.project}')} to the run"
            if is_default
            else f"name a {layer} of the run's project",
        )


def _task_of_another(used: EntityReference, task: Entity | None) -> Iterator[Diagnostic]:
    nodes = [task.spec.fields[key] for key in ("function", "workflow") if key in task.spec.fields] if task else []
    for node in nodes:
        other = read_reference(node, Layer.FUNCTION)
        if isinstance(other, Diagnostic):
            yield other
        elif (other.kind, other.project, other.name) != (used.kind, used.project, used.name):
            yield Diagnostic(
                code="function/reference",
                message=f"the run names function {quote(used.node.value, 120)}, and its task another one",
                span=used.node.span,
                path=("spec", "function"),
                notes=(Note("the task's function is set here", node.span),),
                help="name the same function in both",
            )


def _nested_references(used: EntityReference, function: Entity | None) -> Iterator[Diagnostic]:
    """Functions do not refer to others, so there are no chains and no cycles."""
    for key, layer in _REFERENCES.items():
        node = function.spec.fields.get(key) if function else None
        if node is not None and node.value is not None:
            yield Diagnostic(
                code="function/reference",
                message=f"a function cannot refer to a {layer}",
                span=node.place,
                path=("spec", key),
                notes=(Note("the function is used here", used.node.span),),
                help=f"remove `{key}`, and write the fields in this function",
            )


def _join(
    envelope: Node, named: Mapping[Layer, Entity], runtime: Runtime, library: Library
) -> tuple[Node, list[Diagnostic], list[Override]]:
    """The fields of task, run and function; keys that only the runtime has are in the field of its target."""
    own = runtime_field(runtime, library)
    specs = {layer: entity.spec for layer, entity in named.items()} | {Layer.RUN: envelope.fields["spec"]}
    reported: list[Diagnostic] = []
    replaced: list[Override] = []
    shared: dict[str, Node] = {}
    special: dict[str, Node] = {}
    for layer in (Layer.TASK, Layer.RUN, Layer.FUNCTION):
        if layer in specs:
            split = _split(specs[layer], own, library, reported)
            # As on DigitalHub, a stronger layer replaces a field as a whole.
            for stronger, fields in zip(split, (shared, special), strict=True):
                for key, node in stronger.items():
                    fields[key] = _over(key, node, fields[key], replaced) if key in fields else node
    shared = _read(shared, library.fields, library, replaced)
    special = _read(special, own.keys if own else {}, library, replaced)
    if own and own.name in shared:
        node = shared.pop(own.name)
        reported.append(unknown_key(own.name, node.key or node.span, ("spec", own.name), ()))
    if own and special:
        first = next(iter(special.values()))
        shared[own.name] = Node(special, first.span, first.key)
    return envelope.with_fields(shared), reported, replaced


def _read(
    fields: Mapping[str, Node], schemas: Mapping[str, Schema], library: Library, replaced: list[Override]
) -> dict[str, Node]:
    """The fields as the platform reads them; one that is blank still overrides those of weaker layers."""
    read = read_values(fields, schemas, library)
    replaced += [
        Override((key,), node.overridden[0], node)
        for key, node in fields.items()
        if key not in read and node.overridden and node.overridden[0].value
    ]
    return read


def _over(key: str, node: Node, weaker: Node, replaced: list[Override]) -> Node:
    """The stronger value; only a scalar field can carry the value that it overrode to the manifest."""
    if node.is_scalar and weaker.is_scalar and key not in _CONVERTED:
        return node.overriding(weaker)
    if not node.is_like(weaker):
        replaced.append(Override((key,), weaker, node))
    return node


_CONVERTED = ("command", "profile")
"""Fields that are not scalars, or not fields, in the merged spec."""


def _for_action(
    spec: Node, action: str, target: Target | None, library: Library
) -> tuple[Node, tuple[Diagnostic, ...]]:
    """The fields that apply to action and target, and a notice about the others, which the SDK accepts for all."""
    applicable = applicable_fields(target, library) if target else library.fields.keys()
    foreign = {
        name: node
        for name, node in spec.fields.items()
        if name in library.fields and _is_foreign(name, library.fields[name], action, applicable)
    }
    kept = {name: node for name, node in spec.fields.items() if name not in foreign}
    ignored: dict[KeyPath, Node] = {("spec", name): node for name, node in foreign.items() if node.value not in _EMPTY}
    return spec.with_fields(kept), tuple(ignored_keys(ignored))


def _is_foreign(name: str, schema: Schema, action: str, applicable: Collection[str]) -> bool:
    is_shared = "x-targets" not in schema
    return action not in schema.get("x-actions", (action,)) or (is_shared and name not in applicable)


class RuntimeField(NamedTuple):
    """The field of a runtime's target that contains the keys that only this runtime has."""

    name: str
    keys: Mapping[str, Schema]


def runtime_field(runtime: Runtime, library: Library) -> RuntimeField | None:
    """The field of the runtime's own keys, if its target has one."""
    target = targets_of(library).get(str(runtime.target.value))
    if target is None or target.entity_field is None:
        return None
    return RuntimeField(target.entity_field, library.fields[target.entity_field]["properties"])


def known_keys(runtime: str, platform: Platform, library: Library) -> Mapping[str, Schema]:
    """The keys that runs and functions of a runtime may have, with their schemas."""
    known: Mapping[str, Schema] = library.schemas["entity"]["properties"]["spec"]["properties"]
    own = runtime_field(platform.runtimes[runtime], library) if runtime in platform.runtimes else None
    missing = {name: schema for name, schema in known.items() if "x-missing" in schema}
    return {**library.fields, **missing, **(own.keys if own else {})}


def _split(
    spec: Node, own: RuntimeField | None, library: Library, reported: list[Diagnostic]
) -> tuple[dict[str, Node], dict[str, Node]]:
    """The shared fields of an entity, and those of its runtime, without keys that affect no manifest."""
    known: Mapping[str, Schema] = library.schemas["entity"]["properties"]["spec"]["properties"]
    keys = own.keys if own else {}
    shared: dict[str, Node] = {}
    special: dict[str, Node] = {}
    for written, node in spec.fields.items():
        name = spelled(written, keys)
        if node.value is None or keys.get(name, {}).get("x-ignored"):
            continue
        if "x-missing" in keys.get(name, {}):
            reported += [_not_reproduced(name, node, keys[name])] if node.value not in _EMPTY else []
        elif name in keys:
            _add(special, name, written, node)
        elif (name := spelled(written, known)) not in known:
            name = spelled(written, library.fields)
            if misspelt := _misspelt(name, node, keys, library):
                reported.append(misspelt)
            else:
                _add(shared, name, written, _without_unused(name, node))
        elif "x-missing" in known[name] and node.value not in _EMPTY:
            reported.append(_not_reproduced(name, node, known[name]))
    return shared, special


def _misspelt(name: str, node: Node, keys: Mapping[str, Schema], library: Library) -> Diagnostic | None:
    """The error of a key that is no field, and probably a misspelling of a key of the runtime."""
    known = (*library.fields, *library.schemas["run"]["properties"])
    if name in known or near(name, known) or not near(name, keys):
        return None
    return unknown_key(name, node.key or node.span, ("spec", name), tuple(keys))._replace(notes=())


def _add(fields: dict[str, Node], name: str, written: str, node: Node) -> None:
    # A second spelling stays as it is, and the schema reports it.
    fields[name if name not in fields else written] = node


def _without_unused(name: str, node: Node) -> Node:
    """The field without what the SDK writes and DigitalHub ignores: the size of an existing volume."""
    if name != "volumes":
        return node

    def without_size(volume: Node) -> Node:
        kind, spec = (volume.fields.get(key) for key in ("volume_type", "spec"))
        if spec is None or kind is None or kind.value != "shared_volume":
            return volume
        kept = {key: child for key, child in spec.fields.items() if key != "size"}
        return volume.with_fields({**volume.fields, "spec": spec.with_fields(kept)})

    return node.mapped(without_size)


def _not_reproduced(name: str, node: Node, schema: Schema) -> Diagnostic:
    general = (
        f"use an image that does not need `{name}`, or a platform whose `runtimes` support it, "
        "such as the preset `digitalhub`"
    )
    return Diagnostic(
        code="run/not-reproduced",
        message=f"`{name}` of the {node.span.source.layer} has no effect: {schema['x-missing']}",
        span=node.key or node.span,
        path=("spec", name),
        severity=Severity.WARNING,
        help=schema.get("x-help", general),
    )


def _from_envelope(envelope: Node) -> dict[str, Node]:
    """The run's name and project; an entity without a name is named by its id."""
    fields = envelope.fields
    metadata = fields["metadata"].fields if "metadata" in fields else {}
    name = fields.get("name") or metadata.get("name") or fields.get("id")
    project = fields.get("project") or metadata.get("project")
    found = {key: node for key, node in (("name", name), ("project", project)) if node}
    # A name that is not a string is an error of the envelope, which is reported once.
    return {key: node.but(value=str(node.value)) if node.is_scalar else node for key, node in found.items()}


def _facts(envelope: Node, references: list[EntityReference]) -> Iterator[tuple[str, Node]]:
    """The facts that name patterns and labels can use; of a function, only the name."""
    for name in ("id", "user"):
        node = envelope.fields.get(name)
        if node is not None and isinstance(node.value, str) and node.value:
            yield name, node
    for one in references:
        if one.layer is Layer.FUNCTION:
            yield "function", one.node.but(value=one.name, derived="the name in `function`")
