"""Merge manifests over the base documents of a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from speccompile.compiler.ceilings import deadline_above_limit, resources_above_ceilings
from speccompile.compiler.choose_manifests import bases_of, container_of
from speccompile.compiler.keyed_order import merged_order
from speccompile.compiler.kubernetes_rules import gains_privileges, refused_in_object
from speccompile.compiler.merge_affinity import merge_affinities, unite
from speccompile.compiler.pod_structure import MAIN, POD_PATHS, containers_of, pod_of, volumes_of
from speccompile.compiler.policy import requests_above_limits, volumes_in
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.documents import Profile, Run
from speccompile.model.key_path import KeyPath
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node
from speccompile.model.object_names import port_name
from speccompile.model.source import Layer
from speccompile.model.spec import Merged
from speccompile.schema.library import Library, Schema
from speccompile.schema.suggestions import near
from speccompile.schema.validate import validate

_IDENTITY = ("apiVersion", "kind")
"""Keys that select the manifests of a base document, and are not merged into them."""
_METADATA = ("labels", "annotations")
_SECTIONS = ("initContainers", "containers")
ListMerge: TypeAlias = Callable[[Node, Node, Schema, Library], Node]


def merge_over_bases(
    manifests: tuple[Manifest, ...], merged: Merged, library: Library
) -> tuple[tuple[Manifest, ...], tuple[Diagnostic, ...]]:
    """Merge the manifests over the profile's base documents, and report clashes and unused bases.

    Values that a layer sets override the base; the base overrides literals of templates and settings of the platform.
    """
    profile = merged.profile
    if profile is None or not profile.bases:
        return manifests, ()
    used = bases_of(merged)
    bases = _with_schedule(used, library)
    pattern = merged.platform.settings.fields["names"].fields["port"]
    results: list[Manifest] = []
    findings: list[Diagnostic] = []
    for manifest in manifests:
        base = bases.get(manifest.kind)
        if base is None:
            results.append(manifest)
            continue
        tree = _with_port_names(_over_base(manifest, base, merged, library), pattern)
        results.append(Manifest(tree))
        findings += _clashes(manifest.tree, tree, base, merged)
    findings += [_unused(base, profile, merged) for kind, base in profile.bases.items() if kind not in used]
    return tuple(results), tuple(findings)


def shape_faults(manifests: tuple[Manifest, ...], library: Library) -> Iterator[Diagnostic]:
    """Manifests of custom templates that cannot be merged, because they lack the shape of their kind."""
    kinds = library.schemas["base"]["properties"]["kind"]["enum"]
    for manifest in manifests:
        tree = manifest.tree
        findings = validate(tree, "base", library)[1] if manifest.kind in kinds else ()
        faults = [(finding.message, finding.span) for finding in findings]
        if not faults and manifest.kind in POD_PATHS and not containers_of(pod_of(tree), "containers"):
            faults = [(f"a {manifest.kind} needs a pod with containers", tree.span)]
        for message, span in faults:
            yield Diagnostic(
                code="template/fault",
                message=f"the template's output cannot be merged over a base document: {message}",
                span=span,
                help="follow the shape of the bundled template of this path",
            )


def _with_schedule(bases: Mapping[str, Node], library: Library) -> Mapping[str, Node]:
    """The bases, with that of a Job also for CronJobs, so that a schedule does not bypass it."""
    job = bases.get("Job")
    if job is None:
        return bases
    inner = {key: child for key, child in job.fields.items() if key in ("metadata", "spec")}
    outer = {
        **{key: child for key, child in job.fields.items() if key == "metadata"},
        "kind": job.fields["kind"].but(value="CronJob"),
        "spec": Node({"jobTemplate": job.with_fields(inner)}, job.span),
    }
    return merge_bases({"CronJob": job.with_fields(outer)}, bases, library)


def merge_bases(weaker: Mapping[str, Node], stronger: Mapping[str, Node], library: Library) -> Mapping[str, Node]:
    """Merge the base documents of a parent profile and of its child, which is stronger."""
    both = {
        kind: merge_trees(weaker[kind], base, library.schemas["base"], library) if kind in weaker else base
        for kind, base in stronger.items()
    }
    return {**weaker, **both}


def merge_trees(weaker: Node, stronger: Node, schema: Schema, library: Library) -> Node:
    """The stronger tree with everything of the weaker that it does not set."""
    schema = library.resolve(schema)
    if "x-list" in schema and isinstance(weaker.value, type(stronger.value)):
        return LIST_MERGES[schema["x-list"]](weaker, stronger, schema, library)
    if isinstance(weaker.value, Mapping) and isinstance(stronger.value, Mapping):
        return _merge_mappings(weaker, stronger, schema, library)
    return weaker.overriding(stronger) if is_weak(stronger) else stronger.overriding(weaker)


def _merge_mappings(weaker: Node, stronger: Node, schema: Schema, library: Library) -> Node:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    merged = {
        key: merge_trees(weaker.fields[key], child, properties.get(key, {}), library) if key in weaker.fields else child
        for key, child in stronger.fields.items()
    }
    both = {**merged, **{key: child for key, child in weaker.fields.items() if key not in merged}}
    # A map with free keys is sorted; any other has the order of the schema if that has all keys, else of the template.
    is_in_schema = stronger.fields.keys() <= properties.keys()
    order = sorted(both) if "additionalProperties" in schema else [key for key in properties if key in both]
    order = order if is_in_schema or "additionalProperties" in schema else list(stronger.fields)
    return stronger.with_fields({key: both[key] for key in dict.fromkeys((*order, *both))})


def _merge_items(weaker: Node, stronger: Node, schema: Schema, library: Library, *, deep: bool) -> Node:
    keys: Mapping[str, object] = schema["x-keys"]

    def identity(item: Node) -> tuple[str, ...]:
        values = (item.fields[key].value if key in item.fields else absent for key, absent in keys.items())
        # The slash at the end of a mount path does not matter.
        return tuple(str(value).rstrip("/") for value in values)

    def merge_pair(weaker_item: Node, item: Node) -> Node:
        if deep:
            return merge_trees(weaker_item, item, schema.get("items", {}), library)
        return weaker_item.overriding(item) if is_weak(item) else item.overriding(weaker_item)

    weaker_items, stronger_items = ({identity(item): item for item in side.items} for side in (weaker, stronger))
    items = {**weaker_items, **stronger_items}
    for key in weaker_items.keys() & stronger_items.keys():
        items[key] = merge_pair(weaker_items[key], stronger_items[key])
    return stronger.but(value=tuple([items[key] for key in merged_order(weaker_items, stronger_items)]))


LIST_MERGES: Mapping[str, ListMerge] = {
    "deep": lambda *sides: _merge_items(*sides, deep=True),
    "whole": lambda *sides: _merge_items(*sides, deep=False),
    "tolerations": lambda weaker, stronger, _, library: unite(weaker, stronger, library.item_defaults("tolerations")),
    "affinity": lambda weaker, stronger, _, __: merge_affinities(weaker, stronger),
}


def is_weak(node: Node) -> bool:
    """Whether a base document overrides the value: a literal of a template, or a default of the platform."""
    if node.is_scalar:
        return node.weak or node.span.source.layer is Layer.TEMPLATE
    return all(is_weak(child) for child in (*node.fields.values(), *node.items)) and (
        bool(node.value) or node.weak or node.span.source.layer is Layer.TEMPLATE
    )


def _over_base(manifest: Manifest, base: Node, merged: Merged, library: Library) -> Node:
    fields = {key: child for key, child in base.fields.items() if key not in _IDENTITY}
    usable = _without_reserved(base.with_fields(fields), library.schemas["base"], library)
    pods, named = merged.target.pods, container_of(merged)
    main = _main(containers_of(pod_of(manifest.tree, pods), "containers"), named)
    if main is None:
        return merge_trees(usable, manifest.tree, library.schemas["base"], library)
    path = pods[manifest.kind]
    tree = merge_trees(_with_main(usable, main, path, named), manifest.tree, library.schemas["base"], library)
    return _changed(tree, path, lambda pod: _without_contradictions(_hardened(pod, main, library)))


def _main(containers: tuple[Node, ...], named: Node | None) -> Node | None:
    """The container with the run's fields: the one that a field of the target names, or else the first."""
    return next((one for one in containers if named is None or one.fields["name"].value == named.value), None)


def _with_port_names(tree: Node, pattern: Node) -> Node:
    """The tree with a name for each of several ports of a Service, which Kubernetes requires."""

    def name(port: Node) -> Node:
        return port.with_fields({"name": port_name(port.fields["port"], pattern), **port.fields})

    ports = tree.at(("spec", "ports"))
    several = ports is not None and len(ports.items) > 1
    return _changed(tree, ("spec", "ports"), lambda node: node.mapped(name)) if several else tree


def _without_reserved(base: Node, schema: Schema, library: Library) -> Node:
    """The base without what only the compiler sets: selectors, status, metadata beyond labels and annotations."""
    schema = library.resolve(schema)
    properties: Mapping[str, Schema] = schema.get("properties", {})
    fields = {
        key: _without_reserved(child, properties.get(key, {}), library) if isinstance(child.value, Mapping) else child
        for key, child in base.fields.items()
        if not library.resolve(properties.get(key, {})).get("x-set-by-compiler")
    }
    if "metadata" in fields and "metadata" in properties:
        metadata = {key: child for key, child in fields["metadata"].fields.items() if key in _METADATA}
        fields["metadata"] = fields["metadata"].with_fields(metadata)
    return base.with_fields(fields)


def _with_main(base: Node, main: Node, path: KeyPath, named: Node | None) -> Node:
    """The base with its main container renamed to the compiled one's, or an empty one added in front."""
    name = {"name": main.fields["name"]}
    base_containers = containers_of(base.at(path), "containers")
    is_named = named is not None and any(one.fields["name"].value == named.value for one in base_containers)
    main_name = named.value if named and is_named else MAIN

    def is_main(container: Node) -> bool:
        return container.fields["name"].value == main_name

    def change(pod: Node) -> Node:
        containers = pod.fields.get("containers")
        if containers is None:
            return pod
        items = [one.with_fields({**one.fields, **name}) if is_main(one) else one for one in containers.items]
        first = () if any(map(is_main, containers.items)) else (main.with_fields(name),)
        return pod.with_fields({**pod.fields, "containers": containers.but(value=(*first, *items))})

    return _changed(base, path, change)


def _changed(tree: Node, path: KeyPath, change: Callable[[Node], Node]) -> Node:
    """The tree with the node at the path changed; unchanged if there is none."""
    if not path:
        return change(tree)
    step = str(path[0])
    if step not in tree.fields:
        return tree
    return tree.with_fields({**tree.fields, step: _changed(tree.fields[step], path[1:], change)})


def _hardened(pod: Node, main: Node, library: Library) -> Node:
    """The pod with the hardening of the main container applied to the others, except where they set it."""
    security = main.fields.get("securityContext")
    hardening = _weak_part(security) if security else None
    if hardening is None:
        return pod

    def harden(container: Node) -> Node:
        if container.fields["name"].value == main.fields["name"].value:
            return container
        context = container.fields.get("securityContext")
        hardened = merge_trees(context, hardening, {}, library) if context else hardening
        return container.with_fields({**container.fields, "securityContext": hardened})

    sections = {name: pod.fields[name].mapped(harden) for name in _SECTIONS if name in pod.fields}
    return pod.with_fields({**pod.fields, **sections})


def _without_contradictions(pod: Node) -> Node:
    """The pod without the ban on privilege escalation in containers whose base gives them privileges."""

    def allow(container: Node) -> Node:
        security = container.fields.get("securityContext")
        escalation = security.fields.get("allowPrivilegeEscalation") if security else None
        if security is None or escalation is None or not is_weak(escalation) or not gains_privileges(security):
            return container
        fields = {key: child for key, child in security.fields.items() if child is not escalation}
        return container.with_fields({**container.fields, "securityContext": security.with_fields(fields)})

    sections = {name: pod.fields[name].mapped(allow) for name in _SECTIONS if name in pod.fields}
    return pod.with_fields({**pod.fields, **sections})


def _weak_part(node: Node) -> Node | None:
    if isinstance(node.value, Mapping):
        fields = {key: part for key, child in node.fields.items() if (part := _weak_part(child))}
        return node.with_fields(fields) if fields else None
    return node if is_weak(node) else None


def _clashes(compiled: Node, whole: Node, base: Node, merged: Merged) -> Iterator[Diagnostic]:
    """Faults that only the combination of run and base has."""
    pods, named = merged.target.pods, container_of(merged)
    main = _main(containers_of(pod_of(compiled, pods), "containers"), named)
    if main is not None and named is None:
        yield from _shared_names(main.fields["name"], pod_of(base, pods), merged.run)
    if main is not None and named is not None:
        yield from _unnamed(named, base, pod_of(base, pods))
    path = pods.get(str(whole.fields["kind"].value))
    # The pod's path ends in the `template` and `spec` of the job.
    yield from deadline_above_limit(whole.at((*path[:-2], "activeDeadlineSeconds")) if path else None, merged.platform)
    yield from refused_in_object(whole, pods)
    pod = pod_of(whole, pods)
    for container in (one for section in _SECTIONS for one in containers_of(pod, section)):
        if "resources" in container.fields:
            yield from requests_above_limits(container.fields["resources"])
        if main is not None and container.fields["name"].value == main.fields["name"].value:
            yield from resources_above_ceilings(
                container.fields.get("resources"), volumes_in(merged.spec), merged.platform
            )
        yield from _unknown_volumes(container, volumes_of(whole, pods))


def _unnamed(named: Node, base: Node, pod: Node | None) -> Iterator[Diagnostic]:
    """A base none of whose containers is the main one, which would be added without an image."""
    names = [str(one.fields["name"].value) for one in containers_of(pod, "containers")]
    if names and named.value not in names and MAIN not in names:
        meant = near(str(named.value), names)
        yield Diagnostic(
            code="policy/base-container",
            message=f"the base {base.fields['kind'].value} has no container {quote(named.value)}",
            span=named.span,
            notes=(Note(f"containers of the base: {', '.join(map(quote, names))}", base.fields["kind"].span),),
            help=f"did you mean `{meant}`?" if meant else "use the name of one of its containers",
        )


def _unknown_volumes(container: Node, volumes: Mapping[str, Node]) -> Iterator[Diagnostic]:
    """Mounts of a volume that the pod does not have, which Kubernetes refuses."""
    mounts = container.fields.get("volumeMounts")
    for mount in mounts.items if mounts else ():
        name = mount.fields.get("name")
        if name is not None and name.value not in volumes:
            meant = near(str(name.value), volumes)
            names = ", ".join(quote(volume) for volume in volumes)
            yield Diagnostic(
                code="policy/unknown-volume",
                message=f"container {quote(container.fields['name'].value)} mounts {quote(name.value)}, "
                "and the pod has no volume of that name",
                span=name.span,
                notes=(Note(f"volumes of the pod: {names}" if names else "the pod has no volumes"),),
                help=f"did you mean {quote(meant)}?" if meant else "add the volume, or remove the mount",
            )


def _shared_names(main: Node, base: Node | None, run: Run) -> Iterator[Diagnostic]:
    """A main container with the name of a sidecar would be merged into it, and get the sidecar's privileges."""
    for section in _SECTIONS:
        for name in (one.fields["name"] for one in containers_of(base, section)):
            if name.value == main.value and (name.value != MAIN or section != "containers"):
                yield Diagnostic(
                    code="policy/base-container",
                    message=f"the run's container would have the name {quote(main.value)} of a container of its base",
                    span=run.name.span,
                    notes=(Note("defined here", name.span),),
                    help="rename the run, or the container of the base",
                )


def _unused(base: Node, profile: Profile, merged: Merged) -> Diagnostic:
    kind, owner = base.fields["kind"], quote(profile.id.value)
    version = str(base.fields["apiVersion"].value)
    is_only_version = merged.target.bases.get(str(kind.value), {version}) == {version}
    unused = kind.value if is_only_version else f"{kind.value} of {version}"
    return Diagnostic(
        code="profile/unused-base",
        message=f"the base {kind.value} of profile {owner} is unused: "
        f"run {quote(merged.run.name.value)} creates no {unused}",
        span=kind.span,
        severity=Severity.NOTICE,
    )
