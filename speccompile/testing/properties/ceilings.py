"""Limits of the platform (`ceilings`, `jobs.deadline_seconds`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speccompile.model.quantity import parse_quantity
from speccompile.schema.field_path import SIDES
from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig
from speccompile.testing.manifest_facts import lookup
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.baseline import baseline_manifests
from speccompile.testing.properties.field_values import main_container, values_at

_RESOURCE_KEYS = {"cpu": "cpu", "mem": "memory", "disk": "ephemeral-storage"}
_MEDIA = {"mem": "Memory", "disk": ""}


def limits_apply(run: Data, admin: AdminConfig) -> None:
    """No run can exceed a limit of the platform."""
    deadline = admin.platform_setting("jobs", "deadline_seconds")
    limits = {**(admin.platform_setting("ceilings") or {}), **({"deadline": deadline} if deadline else {})}
    manifests = admin.manifests(run) if limits else None
    if manifests is None:
        return
    baseline = dict(_amounts(baseline_manifests(run, manifests, admin.lenient), admin))
    of_bases = {name for (_, name), _ in _directories(baseline_manifests(run, manifests, admin.lenient))}
    amounts = (*_amounts(manifests, admin), *_totals(manifests, of_bases, admin))
    for (name, path), amount in amounts:
        if name in limits and amount != baseline.get((name, path)):
            limit = limits[name]
            assert amount <= parse_quantity(limit).value, f"{path} is {amount}, above the limit {limit}"


def _amounts(manifests: list[Data], admin: AdminConfig) -> Iterator[tuple[tuple[str, str], Any]]:
    """The amounts that the pod requests, by the limit that applies and their path."""
    for pod in manifest_facts.pods(manifests):
        for container in pod["containers"]:
            for side in SIDES:
                amounts = lookup(container, "resources", side) or {}
                for limit, name in _RESOURCE_KEYS.items():
                    if name in amounts:
                        yield (limit, f"{container['name']} {side} {name}"), parse_quantity(amounts[name]).value
                devices = [amount for name, amount in amounts.items() if "/" in name]
                total = sum(parse_quantity(amount).value for amount in devices)
                yield ("gpu", f"{container['name']} {side} devices"), total
    for path, size in manifest_facts.claim_sizes(manifests):
        yield ("pvc", str(path)), parse_quantity(size).value
        if admin.platform_setting("disk", "as") == "volume" and path == (
            "volume",
            admin.platform_setting("disk", "name"),
        ):
            yield ("disk", str(path)), parse_quantity(size).value
    for seconds in values_at(("deadline_seconds",), manifests, admin):
        yield ("deadline", "the deadline"), seconds


def _totals(manifests: list[Data], of_bases: set[str], admin: AdminConfig) -> Iterator[tuple[tuple[str, str], Any]]:
    """Memory and disk that the main container can use in all: its own, huge pages, and the run's directories."""
    (pod,) = manifest_facts.pods(manifests)
    resources = main_container(manifest_facts.workload(manifests), pod, admin).get("resources") or {}
    for limit, medium in _MEDIA.items():
        sizes = [size for (one, name), size in _directories(manifests) if one == medium and name not in of_bases]
        for side in SIDES:
            amounts = resources.get(side) or {}
            counted = [amounts.get(_RESOURCE_KEYS[limit], 0), *sizes]
            counted += [amount for name, amount in amounts.items() if limit == "mem" and name.startswith("hugepages-")]
            if any(counted[1:]):
                yield (limit, f"{side} and directories"), sum(parse_quantity(one).value for one in counted)


def _directories(manifests: list[Data]) -> Iterator[tuple[tuple[str, str], Any]]:
    """The size of every directory that has one, by medium and name."""
    for pod in manifest_facts.pods(manifests):
        for volume in pod.get("volumes", ()):
            if size := lookup(volume, "emptyDir", "sizeLimit"):
                yield (volume["emptyDir"].get("medium", ""), volume["name"]), size
