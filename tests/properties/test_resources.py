"""Requests and limits: equal where Kubernetes requires it, and the same in every notation."""

from __future__ import annotations

from helpers.cases import compiled
from hypothesis import given

from speccompile.model.quantity import parse_quantity
from speccompile.testing.manifest_facts import pod_templates
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases


def is_extended(resource: str) -> bool:
    """Whether Kubernetes requires equal request and limit for the resource."""
    return "/" in resource or resource.startswith("hugepages-")


@given(cases(always=("resources",)))
def test_hardware_extended_resources_have_equal_request_and_limit(case: Case) -> None:
    """In every container, request and limit of every extended resource are equal, and no request is above its limit."""
    for template in pod_templates(manifest.data for manifest in compiled(case).manifests):
        for container in template["spec"]["containers"]:
            resources = container.get("resources", {})
            requests, limits = resources.get("requests", {}), resources.get("limits", {})
            for name in {*requests, *limits}:
                if is_extended(name):
                    assert parse_quantity(requests[name]) == parse_quantity(limits[name])
                elif name in requests and name in limits:
                    assert parse_quantity(requests[name]) <= parse_quantity(limits[name])


def meant(resources: Data) -> dict[str, Data]:
    """Requests and limits by full name, for resources in any form."""
    amounts: dict[str, Data] = {side: dict(resources.get(side, {})) for side in ("requests", "limits")}
    full = {"cpu": "cpu", "mem": "memory", "disk": "ephemeral-storage", "gpu": "nvidia.com/gpu"}
    for short, name in full.items():
        value = resources.get(short, {})
        pair = (
            value if isinstance(value, dict) else dict.fromkeys(("requests", *(["limits"] * (short == "disk"))), value)
        )
        for side, amount in pair.items():
            amounts[side][name] = amount
    for name in filter(is_extended, {*amounts["requests"], *amounts["limits"]}):
        both = amounts["requests"].get(name, amounts["limits"].get(name))
        amounts["requests"][name] = amounts["limits"][name] = both
    return {side: by_name for side, by_name in amounts.items() if by_name}


@given(cases(built_in=True, alone=True, always=("resources",)))
def test_hardware_forms_are_equivalent(case: Case) -> None:
    """The container gets the same amounts for every form of resources."""
    (template,) = pod_templates(manifest.data for manifest in compiled(case).manifests)
    actual = template["spec"]["containers"][0].get("resources", {})
    expected = meant(case.run["resources"])
    assert {side: set(amounts) for side, amounts in actual.items()} == {
        side: set(amounts) for side, amounts in expected.items()
    }
    for side, amounts in actual.items():
        for name, amount in amounts.items():
            assert parse_quantity(amount) == parse_quantity(expected[side][name])
