"""Takes an approved spec, gives the manifests it calls for: the KINDS table, in the order of output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from speccompile.model import Merged, Node
from speccompile.records import NamedTuple


class Kind(NamedTuple):
    """A kind of manifest: its template, and the items to make one from each; none means not wanted."""

    template: str
    items: Callable[[Merged], Iterable[Node | None]]


def _volumes_where(wanted: Callable[[Node], bool]) -> Callable[[Merged], Iterable[Node]]:
    def items(merged: Merged) -> Iterable[Node]:
        volumes = merged.spec.fields.get("volumes")
        return (volume for volume in volumes.items if wanted(volume)) if volumes else ()

    return items


def _once_if(wanted: Callable[[Merged], bool]) -> Callable[[Merged], Iterable[None]]:
    return lambda merged: (None,) if wanted(merged) else ()


def _does(*actions: str) -> Callable[[Merged], bool]:
    return lambda merged: merged.run.action.value in actions


def _alias(merged: Merged) -> Iterable[Node]:
    """The name of the second Service, where somebody wants one."""
    name = merged.spec.fields.get("service_name")
    return (name,) if name else ()


WORKLOADS: Mapping[str, str] = {
    "job": "job",
    "cronjob": "cron_job",
    "deployment": "deployment",
    "serve": "deployment",
}
"""Kinds of workload, and which of the platform's names each has."""


OBJECTS: Mapping[str, frozenset[str]] = {
    "job": frozenset({"Job"}),
    "cronjob": frozenset({"CronJob", "Job"}),
    "deployment": frozenset({"Deployment"}),
    "serve": frozenset({"Deployment", "Service"}),
}
"""What each kind of workload is made of; base documents of these kinds go under it."""


def workload_of(merged: Merged) -> str:
    """What a run comes to: a key of WORKLOADS."""
    if "schedule" in merged.spec.fields:
        return "cronjob"
    action = str(merged.run.action.value)
    return "deployment" if action == "deploy" else action


KINDS: Mapping[str, tuple[Kind, ...]] = {
    "kubernetes": (
        Kind(
            "persistentvolumeclaim.yaml.j2",
            _volumes_where(lambda volume: volume.fields["volume_type"].value == "persistent_volume_claim"),
        ),
        Kind(
            "configmap.yaml.j2",
            _volumes_where(lambda volume: "data" in volume.fields["spec"].fields),
        ),
        Kind(
            "job.yaml.j2",
            _once_if(lambda merged: _does("job")(merged) and "schedule" not in merged.spec.fields),
        ),
        Kind("cronjob.yaml.j2", _once_if(lambda merged: "schedule" in merged.spec.fields)),
        Kind("deployment.yaml.j2", _once_if(_does("deploy", "serve"))),
        Kind("service.yaml.j2", _once_if(_does("serve"))),
        Kind("service.yaml.j2", _alias),
    ),
}
