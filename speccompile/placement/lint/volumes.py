"""Lint rules about volumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintContext, LintRule, LintWording, finding_at, location_note
from speccompile.placement.lint.pod_facts import is_for_all_nodes, list_items
from speccompile.placement.object_identity import group_of, kind_of, name_of, namespace_of, share_namespace
from speccompile.placement.workloads import PodWorkload

_Claims: TypeAlias = Mapping[str, Sequence[Node]]
"""By name."""
_OF_ONE = {"ReadWriteOnce": "those on other nodes cannot start", "ReadWriteOncePod": "only one of them can start"}
"""The access modes of one node, or of one pod, and what becomes of more pods."""


class _Mount(NamedTuple):
    """A volume of a pod whose claim only one node, or one pod, can have at a time."""

    volume: Node
    claim: Node
    mode: str
    written: Node
    """Where that mode is."""


def _claims_serve_all_pods(context: LintContext) -> Iterator[Diagnostic]:
    claims = _claims(context)
    for workload in context.linted_workloads:
        pods = "the pods of all nodes" if is_for_all_nodes(workload) else f"{workload.replicas} pods"
        is_shared = is_for_all_nodes(workload) or workload.replicas > 1
        for mount in _mounts(workload, claims) if is_shared else ():
            told = LintWording(
                "placement/claim-of-one-node",
                f"{pods} share claim {quote(name_of(mount.claim))}, which is {mount.mode}: {_OF_ONE[mount.mode]}",
                "use a claim of ReadWriteMany, one for each pod (an ephemeral volume), or one pod",
            )
            yield finding_at(
                context, told, workload.owner, mount.volume, *location_note("the access mode", mount.written)
            )


def _updates_let_go(context: LintContext) -> Iterator[Diagnostic]:
    """A rolling update starts the new pod first, and that waits for the claim of the old one."""
    claims = _claims(context)
    for workload in context.linted_workloads:
        if workload.kind != "Deployment" or workload.replicas != 1 or not _surges(workload.owner):
            continue
        for mount in _mounts(workload, claims):
            told = LintWording(
                "placement/update-waits-for-claim",
                f"an update may never end: the new pod waits for claim {quote(name_of(mount.claim))},"
                f" which is {mount.mode}, and the old pod keeps it until the new one is ready",
                "write `strategy: {type: Recreate}`, in a base document if it is a run, or use ReadWriteMany",
            )
            note = Note("on the node of the old pod it goes well, on any other it does not")
            yield finding_at(
                context, told, workload.owner, mount.volume, *location_note("the access mode", mount.written), note
            )


def _surges(deployment: Node) -> bool:
    """Whether an update starts a pod before it stops one, as it does where nobody says otherwise."""
    kind = deployment.at(("spec", "strategy", "type"))
    surge = deployment.at(("spec", "strategy", "rollingUpdate", "maxSurge"))
    return (kind is None or kind.value != "Recreate") and (surge is None or surge.value not in (0, "0", "0%"))


def _claims(context: LintContext) -> _Claims:
    claims: dict[str, list[Node]] = {}
    for tree in context.objects:
        if (group_of(tree), kind_of(tree)) == ("", "PersistentVolumeClaim"):
            claims.setdefault(name_of(tree), []).append(tree)
    return claims


def _mounts(workload: PodWorkload, claims: _Claims) -> Iterator[_Mount]:
    for volume in list_items(workload.pod, "volumes"):
        named = volume.at(("persistentVolumeClaim", "claimName"))
        meant = _meant(workload, claims.get(str(named.value), ())) if named else ()
        mounts = [mount for claim in meant for mount in _of_one(named or volume, claim)]
        # Where it may be one of several claims, nothing is told unless it is true of all.
        if mounts and len(mounts) == len(meant):
            yield mounts[0]


def _meant(workload: PodWorkload, claims: Sequence[Node]) -> Sequence[Node]:
    """The claims that the pods may have: the last in their namespace, or else all that may come to be in it."""
    same = [claim for claim in claims if namespace_of(claim) == workload.namespace]
    return same[-1:] or [claim for claim in claims if share_namespace(claim, workload.owner)]


def _of_one(volume: Node, claim: Node) -> Iterator[_Mount]:
    modes = claim.at(("spec", "accessModes"))
    said = {str(item.value) for item in modes.items} if modes else set()
    if modes and said and said <= _OF_ONE.keys():
        yield _Mount(volume, claim, max(said), modes.items[0])


VOLUME_RULES: tuple[LintRule, ...] = (_claims_serve_all_pods, _updates_let_go)
