"""Takes an approved spec, gives everything templates may see and the list of manifests to make."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from speccompile.kinds import KINDS
from speccompile.model import BUILT_IN, Approved, Merged, Node, Plan, Step
from speccompile.names import CRON_JOB, object_name, part_name, service_name
from speccompile.policy import OWN_PREFIX, store_name

TARGET = "kubernetes"


def plan(approved: Approved) -> Plan:
    """The plan of a run; a function of the run, its profile and the platform alone."""
    merged = approved.merged
    names = _names(merged)
    spec = _with_volume_objects(merged)
    selector = _selector(merged)
    context = {
        "run": _run(merged),
        "spec": spec,
        "names": names,
        "selector": selector,
        "labels": _labels(merged, selector),
        "annotations": spec.fields.get("annotations", Node({}, merged.run.name.span)),
        "workload_annotations": _workload_annotations(merged),
        "container_ports": _container_ports(merged),
        "platform": merged.platform.settings,
    }
    steps = tuple(
        Step(f"{TARGET}/{kind.template}", item)
        for kind in KINDS[TARGET]
        for item in kind.items(replace(merged, spec=spec))
    )
    return Plan(context, steps)


def _run(merged: Merged) -> Node:
    run = merged.run
    told = {"name": run.name, "project": run.project, "action": run.action}
    if merged.profile:
        told["profile"] = merged.profile.id
    return Node(told, run.name.span)


def _made(node: Node, value: str, how: str) -> Node:
    """A value made from another: it keeps the origin, and says how where it is not the same."""
    return node if node.value == value else replace(node, value=value, derived=how, lost=())


def _names(merged: Merged) -> Node:
    name = merged.run.name
    text = str(name.value)
    scheduled = "schedule" in merged.spec.fields
    how = "the run's name, fitted to Kubernetes' rules"
    names = {
        "workload": _made(name, object_name(text, CRON_JOB) if scheduled else object_name(text), how),
        "service": _made(name, service_name(text), how),
        "store": _made(merged.run.project, store_name(merged), "the project's secret store"),
    }
    return Node(names, name.span)


def _selector(merged: Merged) -> Node:
    name, project = merged.run.name, merged.run.project
    how = "fitted to a label"
    labels = {
        "app.kubernetes.io/name": _made(name, object_name(str(name.value)), how),
        "app.kubernetes.io/part-of": _made(project, object_name(str(project.value)), how),
    }
    return Node(labels, name.span)


def _labels(merged: Merged, selector: Node) -> Node:
    """The labels of every object: the selectors' own, whoever set the others."""
    own = {**selector.fields, "app.kubernetes.io/managed-by": Node("speccompile", BUILT_IN)}
    if merged.profile:
        own[f"{OWN_PREFIX}profile"] = merged.profile.id
    given = merged.spec.fields["labels"].fields if "labels" in merged.spec.fields else {}
    return Node(dict(sorted({**given, **own}.items())), merged.run.name.span)


def _workload_annotations(merged: Merged) -> Node:
    """The run's annotations and what the function is given, which concerns nobody else."""
    fields = merged.spec.fields
    given = dict(fields["annotations"].fields) if "annotations" in fields else {}
    for name in ("inputs", "parameters"):
        if name in fields:
            text = json.dumps(fields[name].plain(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            given[f"{OWN_PREFIX}{name}"] = replace(fields[name], value=text, derived=f"`{name}` as JSON", lost=())
    return Node(dict(sorted(given.items())), merged.run.name.span)


def _container_ports(merged: Merged) -> Node:
    """The ports the container listens on, each once, in the order of the Service's ports."""
    ports = merged.spec.fields.get("service_ports")
    targets: dict[object, Node] = {}
    for item in ports.items if ports else ():
        targets.setdefault(item.fields["target_port"].value, item.fields["target_port"])
    return Node(tuple(targets.values()), merged.run.name.span)


def _with_volume_objects(merged: Merged) -> Node:
    """The spec in which each volume names the object behind it, and each port of the Service has a name."""
    fields = dict(merged.spec.fields)
    if "volumes" in fields:
        fields["volumes"] = fields["volumes"].mapped(lambda volume: _with_object(volume, merged))
    if "service_ports" in fields:
        fields["service_ports"] = fields["service_ports"].mapped(_with_port_name)
    return merged.spec.with_fields(fields)


def _with_object(volume: Node, merged: Merged) -> Node:
    name, spec = volume.fields["name"], volume.fields["spec"].fields
    own = replace(
        name,
        value=part_name(str(merged.run.name.value), str(name.value)),
        derived="the run's and the volume's name",
    )
    behind: Mapping[str, Node] = {
        "persistent_volume_claim": own,
        "config_map": own if "data" in spec else spec.get("name", name),
        "secret": spec.get("name", name),
        "shared_volume": spec.get("claim_name", name),
    }
    kind = str(volume.fields["volume_type"].value)
    return volume.with_fields({**volume.fields, **({"object": behind[kind]} if kind in behind else {})})


def _with_port_name(port: Node) -> Node:
    number = port.fields["port"]
    name = replace(number, value=f"port-{number.value}", derived="named after the port")
    return port.with_fields({**port.fields, "name": name})
