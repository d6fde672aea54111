"""`verify` agrees with a real API server about mutated manifests.

`server_verdicts.jsonl` has one mutant per line with the verdict of kube-apiserver 1.35.8, recorded by `make verdicts`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.kubernetes_objects import NOWHERE, api, node_of
from helpers.mutants import OTHER_KINDS, Mutant

from speccompile.verify.verify import LocatedObject, verify_object

RECORD = Path(__file__).parent / "server_verdicts.jsonl"
VERSION = "1.35"
LEAST_AGREEMENT = {True: 0.99, False: 0.96}
"""On mutants of golden/ and of other kinds."""
STRICTER = {
    ("Secret certificate", "data"): "a server reads `[]` as no bytes",
    ("ConfigMap settings", "binaryData"): "a server reads `[]` as no bytes",
    ("PersistentVolumeClaim copy", "spec"): "a server drops a data source without a kind",
}
"""Where `verify` rejects on purpose what a server accepts: likely a mistake."""


class Verdict(NamedTuple):
    mutant: Mutant
    ours: bool
    servers: bool


@cache
def verdicts(*, golden: bool) -> list[Verdict]:
    """The verdicts on all mutants whose manifest still has the changed place."""
    result = []
    for line in RECORD.read_text(encoding="utf-8").splitlines():
        accepted, case, manifest, path, operation, argument = json.loads(line)
        mutant = Mutant(case, manifest, tuple(path), operation, argument)
        try:
            data = mutant.data()
        except LookupError:
            continue
        if (case != OTHER_KINDS) == golden:
            faults = verify_object(LocatedObject(node_of(data), NOWHERE), [api(VERSION)]).faults[VERSION]
            result.append(Verdict(mutant, not faults, accepted))
    return result


@pytest.mark.parametrize(("golden", "count"), [(True, 600), (False, 400)])
def test_the_record_fits_the_manifests(count: int, *, golden: bool) -> None:
    """Golden cases change; when too few mutants apply to them, run `make verdicts`."""
    assert len(verdicts(golden=golden)) >= 0.9 * count
    assert {one.servers for one in verdicts(golden=golden)} == {True, False}


@pytest.mark.parametrize("golden", [True, False])
def test_verify_agrees_with_the_server(*, golden: bool) -> None:
    found = verdicts(golden=golden)
    differing = [one.mutant for one in found if one.ours != one.servers]
    assert len(differing) <= (1 - LEAST_AGREEMENT[golden]) * len(found), differing


@pytest.mark.parametrize("golden", [True, False])
def test_verify_rejects_nothing_that_the_server_accepts(*, golden: bool) -> None:
    alarms = [one.mutant for one in verdicts(golden=golden) if one.servers and not one.ours]
    assert [mutant for mutant in alarms if (mutant.manifest, mutant.path[0]) not in STRICTER] == []
