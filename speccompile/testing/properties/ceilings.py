"""Amounts that the platform limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speccompile.model.quantity import parse_quantity
from speccompile.schema.field_path import SIDES
from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data
from speccompile.testing.manifest_facts import at
from speccompile.testing.properties.baseline import least

_MEASURED = {"cpu": "cpu", "mem": "memory", "disk": "ephemeral-storage"}


def ceilings_hold(run: Data, admin: Admin) -> None:
    """No run can exceed a ceiling of the platform."""
    ceilings = admin.settled("ceilings") or {}
    manifests = admin.manifests(run) if ceilings else None
    if manifests is None:
        return
    usual = dict(_amounts(least(run, manifests, admin.lenient), admin))
    for (ceiling, place), amount in _amounts(manifests, admin):
        if ceiling in ceilings and amount != usual.get((ceiling, place)):
            most = ceilings[ceiling]
            assert amount <= parse_quantity(most).value, f"{place} is {amount}, and the ceiling is {most}"


def _amounts(manifests: list[Data], admin: Admin) -> Iterator[tuple[tuple[str, str], Any]]:
    """What the pod asks for, by the ceiling it is held against and its place."""
    for pod in witness.pods(manifests):
        for container in pod["containers"]:
            for side in SIDES:
                told = at(container, "resources", side) or {}
                for ceiling, name in _MEASURED.items():
                    if name in told:
                        yield (ceiling, f"{container['name']} {side} {name}"), parse_quantity(told[name]).value
                devices = [amount for name, amount in told.items() if "/" in name]
                total = sum(parse_quantity(amount).value for amount in devices)
                yield ("gpu", f"{container['name']} {side} devices"), total
    for place, size in witness.claim_sizes(manifests):
        yield ("pvc", str(place)), parse_quantity(size).value
        if admin.settled("disk", "as") == "volume" and place == ("volume", admin.settled("disk", "name")):
            yield ("disk", str(place)), parse_quantity(size).value
