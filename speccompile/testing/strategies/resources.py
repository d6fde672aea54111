"""Strategies for quantities and resources."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from hypothesis import strategies as st

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.building_blocks import among, integers

GPU_KEY = "nvidia.com/gpu"
_UNITS = ("", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi", "n", "u", "e3", "E-2", "e0")
QuantityValue: TypeAlias = str | int | float


@cache
def quantities() -> st.SearchStrategy[QuantityValue]:
    """Any quantity in any notation, from zero to the maximum."""
    numbers = among("0", "1", "7", "12", ".5", "1.", "0.001", "00010", "1023.25", "+3")
    return st.one_of(
        st.builds("{}{}".format, numbers, st.sampled_from(_UNITS)),
        among("7Ei", "9E", ".5Ei", "9223372036854775807", "1e18"),
        st.integers(0, 2**63 - 1),
        st.floats(0, 2.0**40).map(lambda number: round(number, 6)),
    )


def _cores(count: int) -> tuple[QuantityValue, ...]:
    return (count, str(count), f"{count}000m", f"{count}.0", float(count), f"{count}e0")


def _mebibytes(count: int) -> tuple[QuantityValue, ...]:
    return (f"{count}Mi", f"{count * 1024}Ki", count * 2**20, str(count * 2**20), f"{float(Fraction(count, 1024))}Gi")


def _huge_pages(count: int) -> tuple[QuantityValue, ...]:
    return _mebibytes(2 * count)


def _counts(count: int) -> tuple[QuantityValue, ...]:
    return (count, str(count), f"{count}000m")


@cache
def sizes() -> st.SearchStrategy[QuantityValue]:
    """Positive sizes in bytes, in any notation."""
    return st.builds(lambda count, turn: _mebibytes(count)[turn], integers(1, 2**20), integers(0, 4))


class _Resource(NamedTuple):
    """A resource: its short and full name, the notations of an amount, and the ranges of amounts."""

    short: str | None
    name: str
    spellings: Callable[[int], tuple[QuantityValue, ...]]
    request: range
    both: range
    """For a single amount that is both request and limit."""
    limit: range

    @property
    def whole(self) -> bool:
        return self.request == self.limit


@cache
def _resource_kinds(gpu_key: str) -> tuple[_Resource, ...]:
    few, small, middle, large = range(9), range(1, 1025), range(1025, 2048), range(2048, 2**20)
    return (
        _Resource("cpu", "cpu", _cores, range(5), range(5, 8), range(8, 64)),
        _Resource("mem", "memory", _mebibytes, small, middle, large),
        _Resource("disk", "ephemeral-storage", _mebibytes, small, middle, large),
        _Resource("gpu", gpu_key, _counts, few, few, few),
        _Resource(None, "nvidia.com/mig-1g.5gb", _counts, few, few, few),
        _Resource(None, "hugepages-2Mi", _huge_pages, few, few, few),
    )


def _has_cpu_or_memory(resources: Data) -> bool:
    """Whether Kubernetes accepts huge pages beside them."""
    names = {*resources, *resources.get("requests", ()), *resources.get("limits", ())}
    return not names.isdisjoint({"cpu", "mem", "memory"})


@st.composite
def resources(draw: st.DrawFn, gpu_key: str = GPU_KEY) -> Data:
    """Resources in every form, each resource in one of them."""

    def amount(kind: _Resource, counts: range) -> QuantityValue:
        spellings = kind.spellings(draw(integers(counts[0], counts[-1])))
        return spellings[draw(integers(0, 11)) % len(spellings)]

    result: Data = {}
    for kind in _resource_kinds(gpu_key):
        shape = draw(among("absent", "scalar", "pair", "map") if kind.short else among("absent", "absent", "map"))
        if shape == "absent" or (kind.name.startswith("hugepages-") and not _has_cpu_or_memory(result)):
            continue
        if shape == "scalar":
            # A single `disk` is both request and limit; other single amounts are requests.
            result[str(kind.short)] = amount(kind, kind.both if kind.short == "disk" else kind.request)
            continue
        sides = draw(among(("requests",), ("limits",), ("requests", "limits")))
        if kind.whole:
            count = draw(integers(kind.both[0], kind.both[-1]))
            amounts = {side: amount(kind, range(count, count + 1)) for side in sides}
        else:
            amounts = {side: amount(kind, kind.request if side == "requests" else kind.limit) for side in sides}
        if shape == "pair":
            result[str(kind.short)] = amounts
        else:
            for side, quantity in amounts.items():
                result.setdefault(side, {})[kind.name] = quantity
    return result
