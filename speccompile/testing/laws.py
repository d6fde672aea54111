"""Takes a run and what an admin wrote, gives nothing where the law holds and an AssertionError where it is broken.

Every law looks at manifests, and at what stands written in the admin's documents; how layers were merged is no
witness here. A run that is refused breaks no law.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.object_names import PLACEHOLDER, object_name
from speccompile.model.quantity import QuantityError, parse_quantity
from speccompile.schema.field_path import SIDES, Place, place_of
from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data, profile_of
from speccompile.testing.equivalent_admins import flattened, reordered, twice
from speccompile.testing.manifest_facts import at
from speccompile.testing.node_matcher import fits, nodes_for

Made: TypeAlias = tuple[Data, list[Data] | None]
"""A run and what it comes to."""
_SAYS = ("name", "project", "action")
"""What objects are called after."""


def least(run: Data, manifests: list[Data], admin: Admin) -> list[Data]:
    """What a run comes to that says nothing but what it takes to make the same kinds of objects."""
    said = {key: run[key] for key in _SAYS if run.get(key) is not None}
    if schedule := at(witness.workload(manifests), "spec", "schedule"):
        said["schedule"] = schedule
    if run.get("profile") in admin.profiles:
        said["profile"] = run["profile"]
    image = {"image": run.get("image") or "nobody.example/nothing"}
    ports = {"service_ports": run.get("service_ports") or [{"port": 80}]} if run["action"] == "serve" else {}
    for more in ({}, image, ports):
        if (found := admin.manifests({**said, **more})) is not None:
            return found
    return [manifest.data for manifest in admin.compile({**said, **image, **ports}).manifests]


# What is fixed


def what_is_fixed_stays(run: Data, admin: Admin) -> None:
    """No run can change what its profile, or the platform, fixes."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    found, fixed, bare = (
        witness.facts(made)
        for made in (manifests, least(run, manifests, admin.fixed_only), least(run, manifests, admin.bare))
    )
    # By kind, not by name: a second Service that is fixed to be there has no counterpart of its own.
    usual = {(place[0], *place[2:]): value for place, value in bare.items()}
    for place, value in fixed.items():
        if usual.get((place[0], *place[2:])) != value or _is_the_platforms(place, admin):
            assert found.get(place) == value, f"{_shown(place)} is {found.get(place)!r}, and is fixed to be {value!r}"
    for name in _applying(run, _IN_POD, _IN_MAIN, _IN_SPEC):
        told = _fixed_field(name, run, admin)
        if told is not None and name not in _ADDING:
            value = values_at((name,), manifests, admin)
            expected = _single(told)
            assert [*map(str, value)] == [*map(str, expected)], f"`{name}` is {value}, and is fixed to be {expected}"
    asked = at(run, "resources", "gpu")
    if isinstance(asked, (int, str)):
        key = _gpu_key(run, admin)
        assert values_at(("resources", "limits", key), manifests, admin), f"`gpu` is not {key!r}, as the profile says"


_ADDING = ("node_selector", "tolerations", "affinity")


def _applying(run: Data, *tables: Mapping[str, Any]) -> list[str]:
    """The fields of the tables that concern the run's action."""
    fields, action = bundled_library().fields, run["action"]
    return [name for table in tables for name in table if action in fields[name].get("x-actions", (action,))]


def _is_the_platforms(place: witness.Place, admin: Admin) -> bool:
    """Whether the platform's settings alone decide what stands there."""
    own = {key.replace("{label_prefix}", admin.settled("label_prefix")) for key in admin.settled("own_labels")}
    return (
        place[2:] in (("metadata", "name"), ("metadata", "namespace"))
        or "imagePullSecrets" in place
        or ("labels" in place and place[-1] in own)
        or place[2:4] == ("spec", "selector")
        or ("env" in place and place[-1] in (admin.settled("own_envs") or {}))
    )


def _fixed_field(name: str, run: Data, admin: Admin) -> Any:
    told = [admin.profiles[one].get(name) for one in _lineage(run, admin)]
    told.append(at(admin.demands, "enforce", name))
    return next((value for value in reversed(told) if value is not None), None)


def _lineage(run: Data, admin: Admin) -> list[str]:
    return list(admin.lineage(profile_of(run, admin)))


def sidecars_stay_alone(run: Data, admin: Admin) -> None:
    """No run can change a sidecar, or a volume, that a base document brings."""
    manifests = admin.manifests(run)
    bases = [base for one in _lineage(run, admin) for base in admin.bases_of(one)]
    if manifests is None or not bases:
        return
    usual = least(run, manifests, admin.lenient)
    (main,) = (
        container["name"] for pod in witness.pods(least(run, manifests, admin.bare)) for container in pod["containers"]
    )
    kind = witness.workload(manifests)["kind"]
    brought = [pod for base in bases if _goes_under(base, kind) for pod in witness.pods([base])]
    for ours, theirs in zip(witness.pods(manifests), witness.pods(usual), strict=True):
        for section in ("containers", "initContainers", "volumes"):
            wanted = {one["name"] for pod in brought for one in pod.get(section, ())} - {"main"}
            lost = wanted - {one["name"] for one in ours.get(section, ())}
            assert not lost, f"{section} {sorted(lost)} of the base document are gone"
        known, expected = (
            {one["name"]: one for one in witness.containers(pod) if one["name"] != main} for pod in (ours, theirs)
        )
        assert known == expected, "the containers beside the main one differ from those of a run that says nothing"
        names = {volume["name"] for pod in brought for volume in pod.get("volumes", ())}
        volumes, usually = (
            {one["name"]: one for one in pod.get("volumes", ()) if one["name"] in names} for pod in (ours, theirs)
        )
        assert volumes == usually, "a volume of the base document has become another"


def _goes_under(base: Data, kind: str) -> bool:
    """Whether the base document goes under objects of the kind: that of a Job also under those of a CronJob."""
    return base["kind"] in (kind, "Job" if kind == "CronJob" else kind)


# Where pods go


def excluded_nodes_stay_excluded(run: Data, admin: Admin) -> None:
    """No run can make a pod fit a node that its profile, or the platform, excludes."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    selector, affinities = _placement(run, admin, witness.workload(manifests)["kind"])
    for pod in witness.pods(manifests):
        for node in nodes_for(pod, selector, affinities):
            where = f"the pod fits node {node.name!r} with labels {dict(node.labels)}"
            assert fits({"nodeSelector": selector}, node), f"{where}, which `node_selector` {selector} excludes"
            for affinity in affinities:
                assert fits({"affinity": affinity}, node), f"{where}, which affinity {affinity} excludes"


def _placement(run: Data, admin: Admin, kind: str) -> tuple[dict[str, str], list[Data]]:
    """Which labels nodes must have, and every affinity that must hold, as it stands in the admin's documents."""
    documents = [*(admin.profiles[one] for one in _lineage(run, admin)), admin.demands.get("enforce") or {}]
    selector: dict[str, str] = {}
    for document in documents:
        told = document.get("node_selector") or {}
        selector |= {item["key"]: item["value"] for item in told} if isinstance(told, list) else told
    bases = [base for one in _lineage(run, admin) for base in admin.bases_of(one) if _goes_under(base, kind)]
    placed = [at(template, "spec", "affinity") for base in bases for template in witness.pod_templates([base])]
    return selector, [one for one in (*(document.get("affinity") for document in documents), *placed) if one]


# What is out of reach

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


_TYPES = {
    "emptyDir": "empty_dir",
    "ephemeral": "ephemeral",
    "image": "image",
    "configMap": "config_map",
    "secret": "secret",
    "persistentVolumeClaim": "shared_volume",
}


def blocked_volumes_stay_out(run: Data, admin: Admin) -> None:
    """No run can mount what exists already, or a type of volume, that the platform blocks."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    allowed = admin.settled("volumes", "allowed_types")
    usually = least(run, manifests, admin.lenient)
    (ours,), (usual,) = ([witness.sources(pod) for pod in witness.pods(made)] for made in (manifests, usually))
    for name, source in ours.items():
        if usual.get(name) == source or _is_scratch(name, source, admin):
            continue
        kind, exists = _judged(source, manifests)
        assert kind, f"volume `{name}` is a {source.kind}, which no run can ask for"
        assert not exists or _may_exist(kind, admin), f"volume `{name}` mounts {source.kind} {source.name!r}"
        assert allowed is None or kind in allowed, f"volume `{name}` is of type `{kind}`, and {allowed} are allowed"


def _is_scratch(name: str, source: witness.Source, admin: Admin) -> bool:
    """Whether the volume is what the platform makes of `disk`."""
    return (
        source.kind == "ephemeral" and admin.settled("disk", "as") == "volume" and name == admin.settled("disk", "name")
    )


def _judged(source: witness.Source, manifests: list[Data]) -> tuple[str | None, bool]:
    """The type of a volume, and whether it mounts what was there before the run."""
    if source.kind == "persistentVolumeClaim" and source.name in witness.named(manifests, "PersistentVolumeClaim"):
        return "persistent_volume_claim", False
    made = source.kind == "configMap" and source.name in witness.named(manifests, "ConfigMap")
    return _TYPES.get(source.kind), source.name is not None and not made


def _may_exist(kind: str, admin: Admin) -> bool:
    allowed: bool = admin.settled("volumes", "allow_existing")
    return allowed or (kind == "secret" and admin.settled("secrets", "allow_foreign"))


def foreign_secrets_stay_out(run: Data, admin: Admin) -> None:
    """No run can use a Secret other than its project's own store."""
    manifests = admin.manifests(run)
    if manifests is None or admin.settled("secrets", "allow_foreign"):
        return
    store = str(admin.settled("secrets", "store")).replace("{project}", object_name(run.get("project") or "default"))
    admins = {name for pod in witness.pods(least(run, manifests, admin.lenient)) for name in witness.secrets(pod)}
    used = {name for pod in witness.pods(manifests) for name in witness.secrets(pod)}
    foreign = used - admins - {store}
    assert not foreign, f"the pod uses {sorted(foreign)}, and the project's store is {store!r}"


def nobody_runs_as_root(run: Data, admin: Admin) -> None:
    """No run can run as root, gain privileges, or loosen how it is confined."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    assert not (roots := list(witness.root_ids(manifests))), f"root is at {[_shown(place) for place in roots]}"
    if not admin.settled("security", "disable_root"):
        return
    allowed = _written_weaknesses(run, admin)
    for ours, theirs in zip(
        witness.pod_templates(manifests), witness.pod_templates(least(run, manifests, admin.lenient)), strict=True
    ):
        found = witness.weaknesses(ours)
        new = found - witness.weaknesses(theirs) if allowed else found
        if admin.settled("security", "seccomp_profile") == "Unconfined":
            new = {place for place in new if "seccomp" not in place[-1]}
        assert not new, f"the pod falls short of the standard `restricted`: {sorted(new)}"


def _written_weaknesses(run: Data, admin: Admin) -> bool:
    """Whether an admin wrote anything about security, or confinement, that stands whatever runs say."""
    templates = [
        template
        for one in _lineage(run, admin)
        for base in admin.bases_of(one)
        for template in witness.pod_templates([base])
        if template
    ]
    pods = [template.get("spec") or {} for template in templates]
    layers = [document for one in _lineage(run, admin) for document in (admin.profiles[one],)]
    layers += [layer.get("defaults") or {} for layer in layers] + [
        admin.demands.get(name) or {} for name in ("defaults", "enforce")
    ]
    return any("securityContext" in holder for pod in pods for holder in (pod, *witness.containers(pod))) or any(
        known in key
        for holder in (*layers, *(template.get("metadata") or {} for template in templates))
        for key in holder.get("annotations") or {}
        for known in witness.CONFINING
    )


# Names

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


# Algebra


def twice_is_once(run: Data, admin: Admin) -> None:
    """A profile applied twice is the profile applied once."""
    profile = profile_of(run, admin)
    if profile:
        _same(admin.manifests(run), twice(admin, profile).manifests(run), "under the profile extended by itself")


def parents_can_be_written_out(run: Data, admin: Admin) -> None:
    """A profile that extends parents is the one profile that says everything they say."""
    profile = profile_of(run, admin)
    if profile:
        _same(admin.manifests(run), flattened(admin, profile).manifests(run), "under the profile written out")


def order_of_files_changes_nothing(run: Data, admin: Admin) -> None:
    """The order of profile files, and of the documents in them, changes nothing."""
    other = reordered(admin)
    _same(admin.manifests(run), other.manifests(run), "with the files in another order")
    assert _findings(run, admin) == _findings(run, other), "other findings with the files in another order"


def _findings(run: Data, admin: Admin) -> list[tuple[str, str]]:
    (result,) = admin.compile_all([run])
    return sorted((finding.code, finding.message) for finding in result.diagnostics)


def nothing_is_kept_between_runs(run: Data, admin: Admin) -> None:
    """Runs compiled one after the other come out as each alone, and leave what the admin wrote as it was."""
    before = deepcopy(admin)
    fresh = Admin(before.files, before.platform)
    held = {name: deepcopy(profile) for name, profile in admin.setting.profiles.items()}
    admin.manifests({**run, "name": f"{run['name']}0"})
    _same(admin.manifests(run), fresh.manifests(run), "compiled first")
    assert admin.files == before.files, "the admin's documents have changed"
    assert dict(admin.setting.profiles) == held, "a profile has changed"


def _same(one: list[Data] | None, other: list[Data] | None, how: str) -> None:
    if one is None or other is None:
        refused, made = ("refused", "compiled") if one is None else ("compiled", "refused")
        assert one == other, f"the run is {refused}, and {how} it is {made}"
        return
    ours, theirs = witness.facts(one), witness.facts(other)
    differing = [place for place in {**ours, **theirs} if ours.get(place) != theirs.get(place)]
    assert not differing, (
        f"{_shown(differing[0])} is {ours.get(differing[0])!r}, and {how} {theirs.get(differing[0])!r}"
    )
    assert one == other, f"the manifests differ {how}"


# Rules


def rules_hold(run: Data, admin: Admin) -> None:
    """Whatever compiles satisfies the rules of its profile and of the platform."""
    manifests = admin.manifests(run)
    rules = [rule for holder in _demanding(run, admin) for rule in (holder.get("rules") or {}).items()]
    if manifests is None or not rules:
        return
    usual = least(run, manifests, admin.lenient)
    for text, constraint in rules:
        for path in _paths(text, admin, run)[:1]:
            found, before = values_at(path, manifests, admin), values_at(path, usual, admin)
            for value in found:
                # What stands there though the run says nothing is the admin's own, or what Kubernetes needs.
                assert value in before or _satisfies(value, constraint), f"`{text}` is {value!r}, against {constraint}"


def forbidden_fields_stay_out(run: Data, admin: Admin) -> None:
    """A field that a profile or the platform forbids never reaches a manifest from a run."""
    manifests = admin.manifests(run)
    bans = [text for holder in _demanding(run, admin) for text in holder.get("forbid") or ()]
    if manifests is None or not bans:
        return
    usual = least(run, manifests, admin.lenient)
    for text in bans:
        for path in _paths(text, admin, run):
            assert len(path) > 1 or run.get(path[0]) is None, f"the run says `{text}`"
            if not _is_derived(path, admin):
                found, before = values_at(path, manifests, admin), values_at(path, usual, admin)
                assert found == before, f"`{text}` comes to {found}, and without the run's word to {before}"


def _demanding(run: Data, admin: Admin) -> list[Data]:
    """Every document whose rules and bans the run is under."""
    return [admin.demands, *(admin.profiles[one] for one in dict.fromkeys(_lineage(run, admin)))]


def _paths(text: str, admin: Admin, run: Data) -> list[tuple[str, ...]]:
    """The places in the spec that a path means; `resources.mem` means its request first, and its limit."""
    place = place_of(text, bundled_library())
    assert isinstance(place, Place), f"no path: {text}"
    path = tuple(map(str, place.path))
    if path[0] != "resources" or len(path) < len(("resources", "requests", "cpu")):
        return [path]
    names = {"gpu": _gpu_key(run, admin), "disk": "ephemeral-storage"}
    short = "x-resource" in place.schema
    sides = SIDES if short else (path[1],)
    return [("resources", side, names.get(path[2], path[2])) for side in sides]


def _gpu_key(run: Data, admin: Admin) -> str:
    told = [key for one in _lineage(run, admin) if (key := admin.profiles[one].get("gpu_key"))]
    named = admin.settled("gpu_keys") or {}
    return str(named.get(told[-1], told[-1]) if told else admin.settled("gpu_key"))


def _is_derived(path: tuple[str, ...], admin: Admin) -> bool:
    """Whether the platform makes the value from another, which the run may say."""
    factors = {"memory": "memory_limit_factor", "cpu": "cpu_limit_factor"}
    told = {name for name, factor in factors.items() if admin.settled(factor) is not None}
    return path[:2] == ("resources", "limits") and bool(told.intersection(path[2:] or factors))


def _satisfies(value: Any, constraint: Mapping[str, Any]) -> bool:
    checks: dict[str, Callable[[Any], bool]] = {
        "min": lambda bound: parse_quantity(value) >= parse_quantity(bound),
        "max": lambda bound: parse_quantity(value) <= parse_quantity(bound),
        "options": lambda options: any(_equal(value, option) for option in options),
        "pattern": lambda pattern: re.fullmatch(pattern, str(value)) is not None,
    }
    return all(check(constraint[name]) for name, check in checks.items() if constraint.get(name) is not None)


def _equal(one: Any, other: Any) -> bool:
    try:
        return str(one) == str(other) or parse_quantity(one) == parse_quantity(other)
    except (QuantityError, TypeError):
        return False


_IN_POD = {
    "runtime_class": ("runtimeClassName",),
    "priority_class": ("priorityClassName",),
    "service_account": ("serviceAccountName",),
    "run_as_user": ("securityContext", "runAsUser"),
    "run_as_group": ("securityContext", "runAsGroup"),
    "fs_group": ("securityContext", "fsGroup"),
    "node_selector": ("nodeSelector",),
    "tolerations": ("tolerations",),
    "affinity": ("affinity",),
}
_IN_MAIN = {"image": ("image",), "image_pull_policy": ("imagePullPolicy",), "command": ("command",), "args": ("args",)}
_IN_SPEC = {
    "replicas": "replicas",
    "schedule": "schedule",
    "backoff_limit": "backoffLimit",
    "deadline_seconds": "activeDeadlineSeconds",
    "ttl_seconds": "ttlSecondsAfterFinished",
    "parallelism": "parallelism",
    "completions": "completions",
    "suspend": "suspend",
}


def values_at(path: tuple[str, ...], manifests: list[Data], admin: Admin) -> list[Any]:
    """What the manifests say of a field, as single values; empty where they say nothing, or it has no one place."""
    field, rest = path[0], path[1:]
    load, (pod,) = witness.workload(manifests), list(witness.pods(manifests))
    main = _main(load, pod, admin)
    job = at(load, "spec", "jobTemplate", "spec") or load["spec"]
    if field in _IN_POD:
        return _single(at(pod, *_IN_POD[field], *rest))
    if field in _IN_MAIN:
        return _single(at(main, *_IN_MAIN[field], *rest))
    if field in _IN_SPEC:
        holders = (load["spec"], job) if field != "suspend" else (load["spec"],)
        return [holder[_IN_SPEC[field]] for holder in holders if _IN_SPEC[field] in holder][:1]
    if field == "resources":
        return _single(at(main, "resources", *rest))
    if field in ("labels", "annotations") and rest:
        return _single(at(load, "metadata", field, rest[0]))
    if field == "envs":
        return [env["value"] for env in main.get("env", ()) if "value" in env and rest[:1] in ((), (env["name"],))]
    if field == "secrets":
        return [key for env in main.get("env", ()) if (key := at(env, "valueFrom", "secretKeyRef", "key"))]
    return []


def _main(load: Data, pod: Data, admin: Admin) -> Data:
    """The main container: a base document's may stand before it, and it alone has the platform's name for it."""
    pattern = PLACEHOLDER.sub(".*", str(admin.settled("names", "container")))
    fitting: list[Data] = [one for one in pod["containers"] if re.fullmatch(pattern, one["name"])]
    return next((one for one in fitting if one["name"] == load["metadata"]["name"]), fitting[0])


def _single(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value] if value else []
    return value if isinstance(value, list) else [] if value is None else [value]


def _shown(place: witness.Place) -> str:
    return " ".join(place[:2]) + ": " + ".".join(place[2:])


class Law(NamedTuple):
    """A law, the fields that runs may break it with (none means all), and what an admin must have said for that."""

    holds: Callable[[Data, Admin], None]
    about: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.holds.__name__

    @property
    def sentence(self) -> str:
        return str(self.holds.__doc__)


_PLACING = ("node_selector", "affinity", "tolerations")
_MOUNTING = ("volumes", "secrets", "envs")
LAWS: tuple[Law, ...] = (
    Law(what_is_fixed_stays, (), ("own_envs",)),
    Law(sidecars_stay_alone, (*_MOUNTING, "run_as_user"), ("bases",)),
    Law(excluded_nodes_stay_excluded, _PLACING, ("bases",)),
    Law(ceilings_hold, ("resources", "volumes"), ("ceilings",)),
    Law(blocked_volumes_stay_out, ("volumes", "resources")),
    Law(foreign_secrets_stay_out, _MOUNTING),
    Law(nobody_runs_as_root, ("run_as_user", "run_as_group", "fs_group", "annotations", "volumes"), ("bases",)),
    Law(objects_are_its_own, ("volumes", "service_name", "schedule", "service_ports"), ("names",)),
    Law(rules_hold, ("resources", "envs", "labels", "image", "run_as_user", "node_selector", "replicas"), ("rules",)),
    Law(forbidden_fields_stay_out, ("resources", "envs", "labels", "command", "args", *_PLACING), ("forbid",)),
    Law(twice_is_once),
    Law(parents_can_be_written_out),
    Law(order_of_files_changes_nothing, ("envs", "volumes", "affinity", "resources")),
    Law(nothing_is_kept_between_runs, (*_MOUNTING, *_PLACING)),
)
