"""Plan the manifests of an approved spec, and the context that templates get."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

from speccompile.compiler.choose_manifests import container_of, steps_of, workload_of
from speccompile.compiler.name_placeholders import facts_of
from speccompile.compiler.policy import platform_labels, reserved_prefix, store_name
from speccompile.model.documents import Platform
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node, over_setting
from speccompile.model.object_names import LABEL, build_name, is_hashed, placeholders, port_name
from speccompile.model.spec import Approved, Merged, Plan, WorkloadRule
from speccompile.schema.library import Library
from speccompile.schema.volume_types import CREATED, POD_STORAGE, VolumeType

Facts: TypeAlias = Mapping[str, Node]


def plan(approved: Approved, library: Library) -> Plan:
    """The template context and the manifests of a run."""
    merged = approved.merged
    workload = workload_of(merged)
    called = merged.run.action.but(value=workload.name, derived="the run's workload")
    facts = {**facts_of(merged.run, merged.profile, merged.platform), "workload": called}
    spec = _with_objects(merged, facts, library)
    platform_set = _platform_labels(merged, facts)
    selector_keys, here = _selector_keys(merged.platform), merged.run.name.span
    context = {
        "run": _run(merged),
        "spec": spec,
        "names": _names(merged, workload, facts),
        "selector": Node({key: platform_set[key] for key in selector_keys if key in platform_set}, here),
        "labels": _labels(merged, platform_set),
        "annotations": spec.fields.get("annotations", Node({}, here)),
        "workload_annotations": _workload_annotations(merged),
        "container_ports": _container_ports(merged),
        "platform": merged.platform.settings,
    }
    return Plan(context, tuple(steps_of(merged._replace(spec=spec))))


def _run(merged: Merged) -> Node:
    run = merged.run
    fields = {"name": run.name, "project": run.project, "action": run.action}
    if merged.profile:
        fields["profile"] = merged.profile.id
    if run.runtime:
        fields["runtime"] = run.facts["runtime"]
    return Node(fields, run.name.span)


def _derived(node: Node, value: str, how: str, derived_from: tuple[Node, ...]) -> Node:
    """A value derived from others, at the position of the first; the node itself if the value is the same."""
    if node.value == value:
        return node.but(weak=False) if node.weak else node
    return Node(value, node.span, node.key, (), how, derived_from, node.part, node.unsure)


def _named(pattern: Node, facts: Facts, longest: int = LABEL, *, letter: bool = False) -> Node:
    """The filled name pattern; its origin is the first fact that it mentions."""
    text = str(pattern.value)
    mentioned = placeholders(text)
    used = [facts[name] for name in mentioned if name in facts]
    # A placeholder may lack a value only beside others that distinguish runs.
    values = {name: str(facts[name].value) if name in facts else "none" for name in mentioned}
    name = build_name(text, values, longest, letter=letter)
    how = f"made by the pattern `{text}`{' and hashed' if is_hashed(name) else ''}"
    return _derived(used[0] if used else pattern, name, how, (*used, pattern))


def _names(merged: Merged, workload: WorkloadRule, facts: Facts) -> Node:
    patterns = merged.platform.settings.fields["names"].fields
    names = {
        "workload": _named(
            patterns[workload.name_pattern], facts, workload.max_name_length or LABEL, letter=workload.letter_first
        ),
        "service": _named(patterns["service"], facts, letter=True),
        "container": container_of(merged) or _named(patterns["container"], facts),
        "store": _derived(
            merged.run.project,
            store_name(merged),
            "the project's secret store",
            (merged.run.project, merged.platform.settings.fields["secrets"].fields["store"]),
        ),
    }
    if merged.target.entity_field:
        names["source"] = _named(patterns["source"], facts)
        names["init_container"] = _named(patterns["init_container"], facts)
    if merged.platform.settings.fields["explicit_defaults"].value:
        names["pod"] = names["workload"]
    if "service_name" in merged.spec.fields:
        alias = {**facts, "service_name": merged.spec.fields["service_name"]}
        names["alias"] = _named(patterns["alias"], alias, letter=True)
    return Node(names, merged.run.name.span)


_IDS = {"{profile}": "profile", "{named_profile}": "named_profile"}
"""Labels that are a profile's id, which is a valid label value as it is."""


def _platform_labels(merged: Merged, facts: Facts) -> Mapping[str, Node]:
    """The platform's labels, by key, without those that mention a missing fact."""
    return {
        key: facts[_IDS[str(pattern.value)]] if pattern.value in _IDS else _named(pattern, facts)
        for key, pattern in platform_labels(merged.platform).items()
        if facts.keys() >= {*placeholders(str(pattern.value))}
    }


@by_identity(8)
def _selector_keys(platform: Platform) -> tuple[str, ...]:
    prefix = str(platform.settings.fields["label_prefix"].value)
    patterns = (str(item.value) for item in platform.settings.fields["selector_labels"].items)
    return tuple(sorted(key.replace("{label_prefix}", prefix) for key in patterns))


def _labels(merged: Merged, platform_set: Mapping[str, Node]) -> Node:
    """The labels of every object: those of the spec, and those that the platform sets."""
    labels = merged.spec.fields["labels"].fields if "labels" in merged.spec.fields else {}
    return Node(dict(sorted({**labels, **platform_set}.items())), merged.run.name.span)


def _workload_annotations(merged: Merged) -> Node:
    """The spec's annotations, with `inputs` and `parameters`, which only the workload gets."""
    fields = merged.spec.fields
    annotations = dict(fields["annotations"].fields) if "annotations" in fields else {}
    for name in ("inputs", "parameters"):
        if name in fields:
            text = json.dumps(fields[name].plain(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            annotations[f"{reserved_prefix(merged.platform)}{name}"] = fields[name].but(
                value=text, derived=f"`{name}` as JSON"
            )
    return Node(dict(sorted(annotations.items())), merged.run.name.span)


def _container_ports(merged: Merged) -> Node:
    """The ports that the container listens on, each once, in the order of the Service's ports."""
    ports = merged.spec.fields.get("service_ports")
    targets: dict[object, Node] = {}
    for item in ports.items if ports else ():
        targets.setdefault(item.fields["target_port"].value, item.fields["target_port"])
    return Node(tuple(targets.values()), merged.run.name.span)


def _with_objects(merged: Merged, facts: Facts, library: Library) -> Node:
    """The spec with the name of the mounted object in each volume, and a name for each port."""
    fields = dict(merged.spec.fields)
    for name, node in merged.spec.fields.items():
        if isinstance(node.value, tuple):
            fields[name] = _with_overridden_in_values(node)
    for name, path in _SETTINGS.items():
        if name in fields:
            fields[name] = over_setting(fields[name], merged.platform.settings.at(path))
    patterns = merged.platform.settings.fields["names"].fields
    if "volumes" in fields:
        pattern, types = patterns["volume"], library.volume_types
        fields["volumes"] = fields["volumes"].mapped(lambda volume: _with_object(volume, pattern, facts, types))
    if "service_ports" in fields:
        fields["service_ports"] = fields["service_ports"].mapped(
            lambda port: port.with_fields({**port.fields, "name": port_name(port.fields["port"], patterns["port"])})
        )
    return merged.spec.with_fields(fields)


_SETTINGS: Mapping[str, KeyPath] = {
    "service_type": ("service_type",),
    "suspend": ("jobs", "suspend"),
    "deadline_seconds": ("jobs", "deadline_seconds"),
}
"""Fields for which templates fall back on a setting of the platform."""


def _with_overridden_in_values(node: Node) -> Node:
    """The list with overridden items recorded at the values of items: templates use those one by one."""
    for item in node.items:
        if item.overridden and item.fields:
            return node.mapped(_with_overridden_in_fields)
    return node


def _with_overridden_in_fields(item: Node) -> Node:
    """The item with each overridden value at its counterpart; values without one are recorded at the name."""
    for overridden in item.overridden if item.fields else ():
        fields = overridden.fields
        if item.fields.get(_TYPE) and fields.get(_TYPE) and item.fields[_TYPE].value != fields[_TYPE].value:
            fields = {key: child for key, child in fields.items() if key not in _TYPE_SPECIFIC}
        item = _over_each(item, fields)
        rest = {
            key: child
            for key, child in overridden.fields.items()
            if key not in fields or _has_unmatched(child, item, key)
        }
        if rest:
            name = "name" if "name" in item.fields else next(iter(item.fields))
            item = item.with_fields({**item.fields, name: item.fields[name].over(overridden.with_fields(rest))})
    return item


_TYPE = "volume_type"
_TYPE_SPECIFIC = (_TYPE, "spec")
"""Keys that cannot be compared between volumes of two types."""


def _has_unmatched(child: Node, overriding: Node, key: str) -> bool:
    """Whether the child, or anything below it, has no counterpart."""
    if key not in overriding.fields:
        return True
    return any(_has_unmatched(inner, overriding.fields[key], name) for name, inner in child.fields.items())


def _over_each(overriding: Node, overridden: Mapping[str, Node]) -> Node:
    """The mapping with each overridden value recorded at its counterpart."""
    changed = {
        key: _over_each(overriding.fields[key], child.fields)
        if child.fields
        else overriding.fields[key].overriding(child)
        for key, child in overridden.items()
        if key in overriding.fields and child.value not in ({}, ())
    }
    return overriding.with_fields({**overriding.fields, **changed})


def _with_object(volume: Node, pattern: Node, facts: Facts, types: Mapping[str, VolumeType]) -> Node:
    fields = volume.fields
    name, spec, kind = fields["name"], fields["spec"].fields, types[str(fields["volume_type"].value)]
    mounted = kind.mounts(spec)
    if mounted == POD_STORAGE:
        return volume
    if mounted == CREATED:
        created = _named(pattern, {**facts, "volume": name})
        # The origin is the volume, whatever the pattern mentions first.
        mounted_object = created.but(span=name.span, key=name.key, part=name.part, overridden=())
    else:
        mounted_object = spec.get(kind.object_key, name)
    return volume.with_fields({**fields, "object": mounted_object})
