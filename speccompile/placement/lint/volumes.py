"""Lint rules about volumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintRule, LintWording, PlacementContext, finding_at, location_note
from speccompile.placement.lint.pod_facts import is_for_all_nodes, list_items
from speccompile.placement.object_identity import group_of, kind_of, name_of, namespace_of, share_namespace
from speccompile.placement.workloads import PodWorkload

_Claims: TypeAlias = Mapping[str, Sequence[Node]]
"""By name."""
_SINGLE_MODES = {"ReadWriteOnce": "pods on other nodes cannot start", "ReadWriteOncePod": "only one pod can start"}
"""Access modes for one node or one pod, and the effect on more pods."""


class _Mount(NamedTuple):
    """A volume whose claim only one node, or one pod, can use at a time."""

    volume: Node
    claim: Node
    mode: str
    mode_node: Node


def _check_shared_claims(context: PlacementContext) -> Iterator[Diagnostic]:
    claims = _claims(context)
    for workload in context.linted_workloads:
        pods = "the pods on all nodes" if is_for_all_nodes(workload) else f"{workload.replicas} pods"
        is_shared = is_for_all_nodes(workload) or workload.replicas > 1
        for mount in _mounts(workload, claims) if is_shared else ():
            wording = LintWording(
                "placement/claim-of-one-node",
                f"{pods} share claim {quote(name_of(mount.claim))}, which is {mount.mode}: {_SINGLE_MODES[mount.mode]}",
                "use a ReadWriteMany claim, an ephemeral volume per pod, or a single pod",
            )
            yield finding_at(
                context, wording, workload.owner, mount.volume, *location_note("the access mode", mount.mode_node)
            )


def _check_rolling_updates(context: PlacementContext) -> Iterator[Diagnostic]:
    """A rolling update starts the new pod first, which then waits for the claim of the old one."""
    claims = _claims(context)
    for workload in context.linted_workloads:
        if workload.kind != "Deployment" or workload.replicas != 1 or not _surges(workload.owner):
            continue
        for mount in _mounts(workload, claims):
            wording = LintWording(
                "placement/update-waits-for-claim",
                f"an update may never finish: the new pod waits for claim {quote(name_of(mount.claim))},"
                f" which is {mount.mode}, and the old pod keeps it until the new one is ready",
                "set `strategy: {type: Recreate}`, for a run in the base document of its profile, or use ReadWriteMany",
            )
            note = Note("the update succeeds only if the new pod runs on the node of the old one")
            yield finding_at(
                context, wording, workload.owner, mount.volume, *location_note("the access mode", mount.mode_node), note
            )


def _surges(deployment: Node) -> bool:
    """Whether an update starts a pod before it stops one, which is the default."""
    kind = deployment.at(("spec", "strategy", "type"))
    surge = deployment.at(("spec", "strategy", "rollingUpdate", "maxSurge"))
    return (kind is None or kind.value != "Recreate") and (surge is None or surge.value not in (0, "0", "0%"))


def _claims(context: PlacementContext) -> _Claims:
    claims: dict[str, list[Node]] = {}
    for tree in context.objects:
        if (group_of(tree), kind_of(tree)) == ("", "PersistentVolumeClaim"):
            claims.setdefault(name_of(tree), []).append(tree)
    return claims


def _mounts(workload: PodWorkload, claims: _Claims) -> Iterator[_Mount]:
    for volume in list_items(workload.pod, "volumes"):
        claim_name = volume.at(("persistentVolumeClaim", "claimName"))
        matching = _matching_claims(workload, claims.get(str(claim_name.value), ())) if claim_name else ()
        mounts = [mount for claim in matching for mount in _single_mounts(claim_name or volume, claim)]
        # If several claims match, report only what is true of all of them.
        if mounts and len(mounts) == len(matching):
            yield mounts[0]


def _matching_claims(workload: PodWorkload, claims: Sequence[Node]) -> Sequence[Node]:
    """The claims that the pods may use: the last in their namespace, else all that may be in it."""
    same = [claim for claim in claims if namespace_of(claim) == workload.namespace]
    return same[-1:] or [claim for claim in claims if share_namespace(claim, workload.owner)]


def _single_mounts(volume: Node, claim: Node) -> Iterator[_Mount]:
    modes = claim.at(("spec", "accessModes"))
    names = {str(item.value) for item in modes.items} if modes else set()
    if modes and names and names <= _SINGLE_MODES.keys():
        yield _Mount(volume, claim, max(names), modes.items[0])


VOLUME_LINT_RULES: tuple[LintRule, ...] = (_check_shared_claims, _check_rolling_updates)
