"""Names of objects, which no two runs share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from speccompile.model.findings import CompileError
from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data

Made: TypeAlias = tuple[Data, list[Data] | None]
"""A run and what it comes to."""
_PATTERNS = {
    "Job": "job",
    "CronJob": "cron_job",
    "Deployment": "deployment",
    "Service": "service",
    "PersistentVolumeClaim": "volume",
    "ConfigMap": "volume",
}


def objects_are_its_own(run: Data, admin: Admin) -> None:
    """No run can name itself into another run's objects."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    made = witness.objects(manifests)
    assert len(made) == len(set(made)), f"an object is made twice: {sorted(made)}"
    for other in _neighbours(run, manifests):
        _stand_apart((run, manifests), (other, admin.manifests(other)), admin)


def share_nothing(one: Data, other: Data, admin: Admin) -> None:
    """Two runs have no object in common where their names can tell them apart, and no call lets them have one."""
    _stand_apart((one, admin.manifests(one)), (other, admin.manifests(other)), admin)


def _stand_apart(mine_of: Made, theirs_of: Made, admin: Admin) -> None:
    (one, mine), (other, theirs) = mine_of, theirs_of
    if mine is None or theirs is None or _identity(one) == _identity(other):
        return
    common = {*witness.objects(mine)} & {*witness.objects(theirs)}
    # An alias is whatever somebody wants it to be; whoever comes second in a call is refused.
    for kind, name in common - {*_aliases(mine), *_aliases(theirs)}:
        apart = [fact for fact in _telling(kind, admin) if _fact(one, fact) != _fact(other, fact)]
        assert not apart, f"{kind} {name!r} belongs to both {_identity(one)} and {_identity(other)}"
    if common:
        assert isinstance(admin.compile_all([one, other])[1], CompileError), f"one call makes {sorted(common)} twice"


def _aliases(manifests: list[Data]) -> list[tuple[str, str]]:
    """The second Service of a run."""
    return [made for made in witness.objects(manifests) if made[0] == "Service"][1:]


def _telling(kind: str, admin: Admin) -> list[str]:
    """The facts of a run that tell its objects of the kind from another's."""
    pattern = admin.settled("names", _PATTERNS[kind])
    own_id = admin.settled("identity", "id") is None
    return [fact for fact in ("name", "project", "id") if f"{{{fact}}}" in pattern and (fact != "id" or own_id)]


def _identity(run: Data) -> tuple[str, str]:
    return _fact(run, "project"), _fact(run, "name")


def _fact(run: Data, name: str) -> str:
    return str(run.get(name) or (run["name"] if name == "id" else "default"))


def _neighbours(run: Data, manifests: list[Data]) -> Iterator[Data]:
    """Runs that are called almost like this one: after its objects, cut elsewhere, in another project."""
    name, volumes = str(run["name"]), run.get("volumes") or []
    called = {*(known for _, known in witness.objects(manifests)), name.lower(), name.upper(), f"{name}-", f"s-{name}"}
    yield from ({**run, "name": other} for other in sorted(called - {name}))
    yield {**run, "project": f"{_fact(run, 'project')}-x"}
    for volume in volumes[:2]:
        stem, dash, tail = name.rpartition("-")
        if dash and stem and tail:
            yield {**run, "name": stem, "volumes": [{**volume, "name": f"{tail}-{volume['name']}"}]}
        head, dash, rest = str(volume["name"]).partition("-")
        if dash and head and rest:
            yield {**run, "name": f"{name}-{head}", "volumes": [{**volume, "name": rest}]}
