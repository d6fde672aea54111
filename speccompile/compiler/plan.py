"""Plan the manifests of an approved spec, and what templates see of it."""

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
    """The plan of a run; it depends on the run, its profile, the platform and the library alone."""
    merged = approved.merged
    workload = workload_of(merged)
    called = merged.run.action.but(value=workload.name, derived="what the run comes to")
    facts = {**facts_of(merged.run, merged.profile, merged.platform), "workload": called}
    spec = _with_objects(merged, facts, library)
    own = _own_labels(merged, facts)
    context = {
        "run": _run(merged),
        "spec": spec,
        "names": _names(merged, workload, facts),
        "selector": _selector(merged, own),
        "labels": _labels(merged, own),
        "annotations": spec.fields.get("annotations", Node({}, merged.run.name.span)),
        "workload_annotations": _workload_annotations(merged),
        "container_ports": _container_ports(merged),
        "platform": merged.platform.settings,
    }
    return Plan(context, tuple(steps_of(merged._replace(spec=spec))))


def _run(merged: Merged) -> Node:
    run = merged.run
    told = {"name": run.name, "project": run.project, "action": run.action}
    if merged.profile:
        told["profile"] = merged.profile.id
    return Node(told, run.name.span)


def _made(node: Node, value: str, how: str, derived_from: tuple[Node, ...]) -> Node:
    """A value made from others: it keeps the origin of the first, and says how where it is not the same."""
    if node.value == value:
        return node.but(weak=False) if node.weak else node
    return Node(value, node.span, node.key, (), how, derived_from, node.part, node.unsure)


def _named(pattern: Node, facts: Facts, longest: int = LABEL, *, letter: bool = False) -> Node:
    """The name a pattern of the platform gives; its origin is the first thing it is made of."""
    text = str(pattern.value)
    mentioned = placeholders(text)
    used = [facts[name] for name in mentioned if name in facts]
    # A placeholder without a value can only stand in a name together with others that tell runs apart.
    values = {name: str(facts[name].value) if name in facts else "none" for name in mentioned}
    name = build_name(text, values, longest, letter=letter)
    how = f"made by the pattern `{text}`{' and hashed' if is_hashed(name) else ''}"
    return _made(used[0] if used else pattern, name, how, (*used, pattern))


def _names(merged: Merged, workload: WorkloadRule, facts: Facts) -> Node:
    patterns = merged.platform.settings.fields["names"].fields
    names = {
        "workload": _named(
            patterns[workload.name_pattern], facts, workload.max_name_length or LABEL, letter=workload.letter_first
        ),
        "service": _named(patterns["service"], facts, letter=True),
        "container": container_of(merged) or _named(patterns["container"], facts),
        "store": _made(
            merged.run.project,
            store_name(merged),
            "the project's secret store",
            (merged.run.project, merged.platform.settings.fields["secrets"].fields["store"]),
        ),
    }
    if merged.platform.settings.fields["explicit_defaults"].value:
        names["pod"] = names["workload"]
    if "service_name" in merged.spec.fields:
        alias = {**facts, "service_name": merged.spec.fields["service_name"]}
        names["alias"] = _named(patterns["alias"], alias, letter=True)
    return Node(names, merged.run.name.span)


_IDS = {"{profile}": "profile", "{named_profile}": "named_profile"}
"""Labels that are a profile's id, which is a label value already and stays as it is."""


def _own_labels(merged: Merged, facts: Facts) -> Mapping[str, Node]:
    """The platform's labels, by key; one that has nothing to say is left out."""
    return {
        key: facts[_IDS[str(pattern.value)]] if pattern.value in _IDS else _named(pattern, facts)
        for key, pattern in platform_labels(merged.platform).items()
        if facts.keys() >= {*placeholders(str(pattern.value))}
    }


def _selector(merged: Merged, own: Mapping[str, Node]) -> Node:
    keys = _selector_keys(merged.platform)
    return Node({key: own[key] for key in keys if key in own}, merged.run.name.span)


@by_identity(8)
def _selector_keys(platform: Platform) -> tuple[str, ...]:
    prefix = str(platform.settings.fields["label_prefix"].value)
    written = (str(item.value) for item in platform.settings.fields["selector_labels"].items)
    return tuple(sorted(key.replace("{label_prefix}", prefix) for key in written))


def _labels(merged: Merged, own: Mapping[str, Node]) -> Node:
    """The labels of every object: the platform's own, whoever set the others."""
    given = merged.spec.fields["labels"].fields if "labels" in merged.spec.fields else {}
    return Node(dict(sorted({**given, **own}.items())), merged.run.name.span)


def _workload_annotations(merged: Merged) -> Node:
    """The run's annotations and what the function is given, which concerns nobody else."""
    fields = merged.spec.fields
    given = dict(fields["annotations"].fields) if "annotations" in fields else {}
    for name in ("inputs", "parameters"):
        if name in fields:
            text = json.dumps(fields[name].plain(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            given[f"{reserved_prefix(merged.platform)}{name}"] = fields[name].but(
                value=text, derived=f"`{name}` as JSON"
            )
    return Node(dict(sorted(given.items())), merged.run.name.span)


def _container_ports(merged: Merged) -> Node:
    """The ports the container listens on, each once, in the order of the Service's ports."""
    ports = merged.spec.fields.get("service_ports")
    targets: dict[object, Node] = {}
    for item in ports.items if ports else ():
        targets.setdefault(item.fields["target_port"].value, item.fields["target_port"])
    return Node(tuple(targets.values()), merged.run.name.span)


def _with_objects(merged: Merged, facts: Facts, library: Library) -> Node:
    """The spec in which each volume names the object behind it, and each port of the Service has a name."""
    fields = dict(merged.spec.fields)
    for name, node in merged.spec.fields.items():
        if isinstance(node.value, tuple):
            fields[name] = _with_losers_handed_down(node)
    for name, path in _SETTINGS.items():
        if name in fields:
            fields[name] = over_setting(fields[name], merged.platform.settings.at(path))
    patterns = merged.platform.settings.fields["names"].fields
    if "volumes" in fields:
        pattern, types = patterns["volume"], library.volume_types
        fields["volumes"] = fields["volumes"].mapped(lambda volume: _with_object(volume, pattern, facts, types))
    if "service_ports" in fields:
        fields["service_ports"] = fields["service_ports"].mapped(lambda port: _with_name(port, patterns["port"]))
    return merged.spec.with_fields(fields)


_SETTINGS: Mapping[str, KeyPath] = {
    "service_type": ("service_type",),
    "suspend": ("jobs", "suspend"),
    "deadline_seconds": ("jobs", "deadline_seconds"),
}
"""Fields for which a template takes a setting of the platform where nobody says anything."""


def _with_losers_handed_down(node: Node) -> Node:
    """The list whose items hand what lost to them down to their values: templates take items apart."""
    for item in node.items:
        if item.overridden and item.fields:
            return node.mapped(_handing_down)
    return node


def _handing_down(item: Node) -> Node:
    """The item in which each value has what lost to it beside it, and the name what has no such place."""
    for loser in item.overridden if item.fields else ():
        told = loser.fields
        if item.fields.get(_KIND) and told.get(_KIND) and item.fields[_KIND].value != told[_KIND].value:
            told = {key: child for key, child in told.items() if key not in _OF_ITS_KIND}
        item = _over_each(item, told)
        rest = {key: child for key, child in loser.fields.items() if key not in told or _says_more(child, item, key)}
        if rest:
            key = "name" if "name" in item.fields else next(iter(item.fields))
            item = item.with_fields({**item.fields, key: item.fields[key].over(loser.with_fields(rest))})
    return item


_KIND = "volume_type"
_OF_ITS_KIND = (_KIND, "spec")
"""What two volumes of one name do not have in common if they are of two types."""


def _says_more(child: Node, overriding: Node, key: str) -> bool:
    """Whether there is nothing in the place of some of what the child says."""
    if key not in overriding.fields:
        return True
    return any(_says_more(inner, overriding.fields[key], name) for name, inner in child.fields.items())


def _over_each(overriding: Node, overridden: Mapping[str, Node]) -> Node:
    """The mapping in which each value has what was said in its place among what lost to it."""
    handed = {
        key: _over_each(overriding.fields[key], child.fields)
        if child.fields
        else overriding.fields[key].overriding(child)
        for key, child in overridden.items()
        if key in overriding.fields and child.value not in ({}, ())
    }
    return overriding.with_fields({**overriding.fields, **handed})


def _with_object(volume: Node, pattern: Node, facts: Facts, types: Mapping[str, VolumeType]) -> Node:
    fields = volume.fields
    name, spec, kind = fields["name"], fields["spec"].fields, types[str(fields["volume_type"].value)]
    mounted = kind.mounts(spec)
    if mounted == POD_STORAGE:
        return volume
    if mounted == CREATED:
        made = _named(pattern, {**facts, "volume": name})
        # It is the volume that has an object of its own, whatever the pattern says first.
        behind = made.but(span=name.span, key=name.key, part=name.part, overridden=())
    else:
        behind = spec.get(kind.object_key, name)
    return volume.with_fields({**fields, "object": behind})


def _with_name(port: Node, pattern: Node) -> Node:
    return port.with_fields({**port.fields, "name": port_name(port.fields["port"], pattern)})
