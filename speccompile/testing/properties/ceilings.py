"""Limits of the platform (`ceilings`)."""

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

_RESOURCE_KEYS = {"cpu": "cpu", "mem": "memory", "disk": "ephemeral-storage"}


def limits_apply(run: Data, admin: AdminConfig) -> None:
    """No run can exceed a limit of the platform."""
    ceilings = admin.platform_setting("ceilings") or {}
    manifests = admin.manifests(run) if ceilings else None
    if manifests is None:
        return
    baseline = dict(_amounts(baseline_manifests(run, manifests, admin.lenient), admin))
    for (name, path), amount in _amounts(manifests, admin):
        if name in ceilings and amount != baseline.get((name, path)):
            limit = ceilings[name]
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
