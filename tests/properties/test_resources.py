"""Requests and limits: equal where Kubernetes requires it, and the same in every notation."""

from __future__ import annotations

from helpers.cases import compiled
from hypothesis import given

from speccompile.model.quantity import parse_quantity
from speccompile.testing.manifest_facts import pod_templates
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases


def is_extended(resource: str) -> bool:
    """Whether Kubernetes wants request and limit of the resource to be equal."""
    return "/" in resource or resource.startswith("hugepages-")


@given(cases(always=("resources",)))
def test_hardware_that_comes_whole_is_requested_as_it_is_limited(case: Case) -> None:
    """In every container, request and limit of every extended resource are equal, and no request is above its limit."""
    for template in pod_templates(manifest.data for manifest in compiled(case).manifests):
        for container in template["spec"]["containers"]:
            asked = container.get("resources", {})
            requests, limits = asked.get("requests", {}), asked.get("limits", {})
            for name in {*requests, *limits}:
                if is_extended(name):
                    assert parse_quantity(requests[name]) == parse_quantity(limits[name])
                elif name in requests and name in limits:
                    assert parse_quantity(requests[name]) <= parse_quantity(limits[name])


def meant(resources: Data) -> dict[str, Data]:
    """Requests and limits by full name, for resources in any shape: what the shapes stand for."""
    amounts: dict[str, Data] = {side: dict(resources.get(side, {})) for side in ("requests", "limits")}
    full = {"cpu": "cpu", "mem": "memory", "disk": "ephemeral-storage", "gpu": "nvidia.com/gpu"}
    for short, name in full.items():
        told = resources.get(short, {})
        pair = told if isinstance(told, dict) else dict.fromkeys(("requests", *(["limits"] * (short == "disk"))), told)
        for side, amount in pair.items():
            amounts[side][name] = amount
    for name in filter(is_extended, {*amounts["requests"], *amounts["limits"]}):
        both = amounts["requests"].get(name, amounts["limits"].get(name))
        amounts["requests"][name] = amounts["limits"][name] = both
    return {side: told for side, told in amounts.items() if told}


@given(cases(built_in=True, alone=True, always=("resources",)))
def test_hardware_shapes_mean_the_same(case: Case) -> None:
    """Whatever shape resources are written in, the container gets the amounts that the shape stands for."""
    (template,) = pod_templates(manifest.data for manifest in compiled(case).manifests)
    found = template["spec"]["containers"][0].get("resources", {})
    expected = meant(case.run["resources"])
    assert {side: set(amounts) for side, amounts in found.items()} == {
        side: set(told) for side, told in expected.items()
    }
    for side, amounts in found.items():
        for name, amount in amounts.items():
            assert parse_quantity(amount) == parse_quantity(expected[side][name])
