"""Names of objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from speccompile.model.findings import CompileError
from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig
from speccompile.testing.plain_data import Data

RunManifests: TypeAlias = tuple[Data, list[Data] | None]
"""A run and its manifests."""
_PATTERNS = {
    "Job": "job",
    "CronJob": "cron_job",
    "Deployment": "deployment",
    "Service": "service",
    "PersistentVolumeClaim": "volume",
    "ConfigMap": "volume",
}


def objects_belong_to_one_run(run: Data, admin: AdminConfig) -> None:
    """No run can take over another run's objects."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    objects = manifest_facts.objects(manifests)
    assert len(objects) == len(set(objects)), f"duplicate object: {sorted(objects)}"
    for other in _similar_runs(run, manifests):
        _check_disjoint((run, manifests), (other, admin.manifests(other)), admin)


def runs_share_no_object(one: Data, other: Data, admin: AdminConfig) -> None:
    """Two runs with distinguishable names have no object in common, and one call never produces an object twice."""
    _check_disjoint((one, admin.manifests(one)), (other, admin.manifests(other)), admin)


def _check_disjoint(first: RunManifests, second: RunManifests, admin: AdminConfig) -> None:
    (one, manifests), (other, other_manifests) = first, second
    if manifests is None or other_manifests is None or _identity(one) == _identity(other):
        return
    common = {*manifest_facts.objects(manifests)} & {*manifest_facts.objects(other_manifests)}
    # Users choose aliases freely; the second run of a call with the same alias is rejected.
    for kind, name in common - {*_aliases(manifests), *_aliases(other_manifests)}:
        differing = [fact for fact in _distinguishing_facts(kind, admin) if _fact(one, fact) != _fact(other, fact)]
        assert not differing, f"{kind} {name!r} belongs to both {_identity(one)} and {_identity(other)}"
    if common:
        assert isinstance(admin.compile_all([one, other])[1], CompileError), f"one call produces {sorted(common)} twice"


def _aliases(manifests: list[Data]) -> list[tuple[str, str]]:
    """The second Service of a run."""
    return [one for one in manifest_facts.objects(manifests) if one[0] == "Service"][1:]


def _distinguishing_facts(kind: str, admin: AdminConfig) -> list[str]:
    """The facts of a run that are part of the names of its objects of this kind."""
    pattern = admin.platform_setting("names", _PATTERNS[kind])
    has_run_id = admin.platform_setting("identity", "id") is None
    return [fact for fact in ("name", "project", "id") if f"{{{fact}}}" in pattern and (fact != "id" or has_run_id)]


def _identity(run: Data) -> tuple[str, str]:
    return _fact(run, "project"), _fact(run, "name")


def _fact(run: Data, name: str) -> str:
    return str(run.get(name) or (run["name"] if name == "id" else "default"))


def _similar_runs(run: Data, manifests: list[Data]) -> Iterator[Data]:
    """Runs with similar names: those of its objects, split elsewhere, or in another project."""
    name, volumes = str(run["name"]), run.get("volumes") or []
    names = {
        *(object_name for _, object_name in manifest_facts.objects(manifests)),
        name.lower(),
        name.upper(),
        f"{name}-",
        f"s-{name}",
    }
    yield from ({**run, "name": other} for other in sorted(names - {name}))
    yield {**run, "project": f"{_fact(run, 'project')}-x"}
    for volume in volumes[:2]:
        stem, dash, tail = name.rpartition("-")
        if dash and stem and tail:
            yield {**run, "name": stem, "volumes": [{**volume, "name": f"{tail}-{volume['name']}"}]}
        head, dash, rest = str(volume["name"]).partition("-")
        if dash and head and rest:
            yield {**run, "name": f"{name}-{head}", "volumes": [{**volume, "name": rest}]}
