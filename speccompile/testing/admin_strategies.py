"""Hypothesis strategies for profiles, with parents and base documents, and platforms."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import assume, reject
from hypothesis import strategies as st

from speccompile.model.findings import CompileError
from speccompile.model.key_spelling import snake_case
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.testing.admin import Admin, Data
from speccompile.testing.hostile_runs import attempts, is_usable
from speccompile.testing.strategies.documents import platforms
from speccompile.testing.strategies.fields import ACTIONS, field_values
from speccompile.testing.strategies.node_placement import affinities, required_affinities, selectors, tolerations
from speccompile.testing.strategies.resources import GPU_KEY
from speccompile.testing.strategies.text import env_names, label_keys, label_values, texts
from speccompile.testing.strategies.volumes import VOLUME_NAMES, VOLUME_TYPES

_IDS = ("default", "gpu", "big", "1e3")
_RULES: tuple[tuple[str, Data], ...] = (
    ("resources.mem", {"max": "2Ti", "reason": "the nodes have 2Ti"}),
    ("resources.mem", {"min": "1Mi", "max": "900Mi"}),
    ("resources.limits.cpu", {"max": 40}),
    ("resources.gpu", {"max": 4}),
    ("resources.gpu", {"options": [0, 1, 2, "4000m"]}),
    ("resources.disk.limits", {"max": "500Gi"}),
    ('resources.limits["nvidia.com/gpu"]', {"max": 6}),
    ("replicas", {"max": 1}),
    ("runAsUser", {"min": 1000}),
    ("envs.HOME", {"pattern": "[ -~]*"}),
    ("labels.team", {"options": ["a", "b"], "required": True}),
    ("priority_class", {"pattern": "[a-z].*"}),
    ("image", {"pattern": "(?!localhost).+"}),
    ("image", {"required": True}),
    ("backoff_limit", {"max": 7}),
    ("node_selector.zone", {"options": ["a", "1"]}),
    ("secrets", {"pattern": "S_.*"}),
)
_BANS = (
    "tolerations",
    "affinity",
    "node_selector",
    "nodeSelector.zone",
    "resources.gpu",
    "resources.limits",
    "resources.requests.memory",
    "envs.HOME",
    "labels.team",
    "runAsUser",
    "command",
    "args",
    "volumes",
    "schedule",
    "secrets",
)
NAME_PATTERNS = ("{name}", "x-{name}", "{project}-{name}", "{id}", "j-{task}-{id}", "{application}-{name}-{project}")
VOLUME_PATTERNS = ("{name}-{volume}", "v-{id}-{volume}", "{project}-{name}-{volume}", "{name}{volume}")


_TOPICS: tuple[tuple[str, ...], ...] = (
    ("envs", "secrets", "labels", "annotations"),
    ("volumes", "resources", "envs"),
    ("node_selector", "tolerations", "affinity"),
    ("resources", "image", "args", "command", "priority_class"),
    ("run_as_user", "fs_group", "service_ports", "service_name", "replicas", "schedule", "backoff_limit"),
)
"""Fields that stand together in documents for a law that is about no field in particular."""


class Scope(NamedTuple):
    """What documents are drawn for: a run's action, fields that are said often, parts that are always there."""

    action: str
    about: tuple[str, ...]
    wants: tuple[str, ...] = ()
    gpu_key: str = GPU_KEY


@st.composite
def _layer(draw: st.DrawFn, root: str, scope: Scope, most: int) -> Data:
    """Some fields, of which volumes are mounted below a root that no other layer uses."""
    values = field_values(root=root, gpu_key=scope.gpu_key, many=False, shared=True)
    said = [name for name in scope.about if draw(_EVEN)]
    more = draw(st.lists(st.sampled_from(sorted(values)), max_size=1))
    return {name: draw(values[name]) for name in dict.fromkeys((*said[:most], *more))}


_EVEN = st.booleans()


@cache
def _rules(scope: Scope) -> st.SearchStrategy[Data]:
    near = [rule for rule in _RULES if _head(rule[0]) in scope.about] or list(_RULES)
    return st.lists(st.sampled_from(near), min_size=int("rules" in scope.wants), max_size=3).map(dict)


@cache
def _bans(scope: Scope) -> st.SearchStrategy[list[str]]:
    near = [ban for ban in _BANS if _head(ban) in scope.about] or list(_BANS)
    return st.lists(st.sampled_from(near), min_size=int("forbid" in scope.wants), max_size=2, unique=True)


def _head(path: str) -> str:
    return snake_case(path.partition(".")[0])


# Base documents


@cache
def _metadata() -> st.SearchStrategy[Data]:
    return st.fixed_dictionaries(
        {},
        optional={
            "labels": st.dictionaries(label_keys(), label_values(), max_size=2),
            "annotations": st.dictionaries(label_keys(), texts(), max_size=2),
        },
    )


@cache
def _env() -> st.SearchStrategy[list[Data]]:
    plain = st.builds(lambda name, value: {"name": name, "value": value}, env_names(), texts())
    secret = env_names().map(
        lambda name: {"name": name, "valueFrom": {"secretKeyRef": {"name": "admins-own", "key": "token"}}}
    )
    return st.lists(plain | secret, max_size=2, unique_by=lambda env: env["name"])


@cache
def _base_volumes() -> st.SearchStrategy[list[Data]]:
    sources: tuple[Data, ...] = (
        {"emptyDir": {}},
        {"configMap": {"name": "admins-config"}},
        {"secret": {"secretName": "admins-own"}},
        {"hostPath": {"path": "/dev"}},
        {"persistentVolumeClaim": {"claimName": "admins-claim"}},
    )
    volume = st.builds(
        lambda name, source: {"name": name, **source}, st.sampled_from(VOLUME_NAMES), st.sampled_from(sources)
    )
    return st.lists(volume, min_size=1, max_size=2, unique_by=lambda one: one["name"])


@cache
def _securities() -> st.SearchStrategy[Data]:
    return st.sampled_from(
        ({"runAsUser": 1000}, {"allowPrivilegeEscalation": True}, {"capabilities": {"add": ["NET_ADMIN"]}})
    )


@st.composite
def _pods(draw: st.DrawFn) -> Data:
    pod: Data = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "nodeSelector": selectors(),
                "affinity": required_affinities() | affinities(),
                "tolerations": st.lists(tolerations(), max_size=2),
                "terminationGracePeriodSeconds": st.just(30),
                "priorityClassName": st.just("admins"),
                "volumes": _base_volumes(),
            },
        )
    )
    mounts = [
        {"name": volume["name"], "mountPath": f"/base/{index}"} for index, volume in enumerate(pod.get("volumes", ()))
    ]
    beside = st.fixed_dictionaries(
        {"name": st.sampled_from(("proxy", "worker")), "image": st.just("sidecar:1")},
        optional={"env": _env(), "securityContext": _securities(), "volumeMounts": st.just(mounts)},
    )
    main = st.fixed_dictionaries(
        {"name": st.just("main")},
        optional={
            "env": _env(),
            "image": st.just("base:1"),
            "workingDir": st.just("/work"),
            "resources": st.just({"requests": {"memory": "1Mi"}}),
        },
    )
    containers = draw(st.lists(beside | main, max_size=2, unique_by=lambda one: str(one["name"])))
    starters = draw(st.lists(beside, max_size=1).map(lambda found: [{**one, "name": "setup"} for one in found]))
    return pod | ({"containers": containers} if containers else {}) | ({"initContainers": starters} if starters else {})


_KINDS = {"job": ("Job", "CronJob"), "deploy": ("Deployment",), "serve": ("Deployment", "Service")}


@st.composite
def _bases(draw: st.DrawFn, scope: Scope) -> tuple[Data, ...]:
    kinds = _KINDS[scope.action]
    chosen = kinds if "bases" in scope.wants and draw(_EVEN) else draw(st.lists(st.sampled_from(kinds), max_size=1))
    return tuple(draw(_base(kind)) for kind in chosen)


@st.composite
def _base(draw: st.DrawFn, kind: str) -> Data:
    versions = {"Job": "batch/v1", "CronJob": "batch/v1", "Deployment": "apps/v1", "Service": "v1"}
    template = {"metadata": draw(_metadata()), "spec": draw(_pods())}
    specs: dict[str, Data] = {
        "Job": {"backoffLimit": 3, "template": template},
        "CronJob": {"jobTemplate": {"spec": {"template": template}}},
        "Deployment": {"strategy": {"type": "Recreate"}, "template": template},
        "Service": {"ports": [{"name": "metrics", "port": 9090}]},
    }
    return {"apiVersion": versions[kind], "kind": kind, "metadata": draw(_metadata()), "spec": specs[kind]}


# Profiles and platforms


@st.composite
def _files(draw: st.DrawFn, scope: Scope) -> tuple[tuple[Data, ...], ...]:
    """Up to three profiles, each a child of some before it."""
    files: list[tuple[Data, ...]] = []
    for identifier in draw(st.permutations(_IDS))[: draw(st.sampled_from((2, 1, 3)))]:
        known = [file[0]["id"] for file in files]
        key = draw(st.sampled_from((None, None, "amd.com/gpu", "slice")))
        made: Data = {"id": identifier, **draw(_layer(f"/{identifier}", scope, 5))}
        parts = {
            "extends": draw(st.permutations(known))[: draw(st.sampled_from((1, 2, 0)))],
            "gpu_key": key,
            "defaults": draw(_layer(f"/{identifier}-default", scope, 2)),
            "rules": draw(_rules(scope)) if "rules" in scope.wants or draw(_EVEN) else None,
            "forbid": draw(_bans(scope)) if "forbid" in scope.wants or draw(_EVEN) else None,
        }
        made |= {name: value for name, value in parts.items() if value}
        files.append((made, *draw(_bases(scope))))
    return tuple(files)


@st.composite
def _demands(draw: st.DrawFn, scope: Scope) -> Data:
    """A platform with every kind of setting that a law is about."""
    settings: Data = {name: value for name, value in draw(platforms()).items() if value is not None}
    scope = scope._replace(gpu_key=_gpu_key(settings))
    names = st.fixed_dictionaries(
        {},
        optional={
            **{kind: st.sampled_from(NAME_PATTERNS) for kind in ("job", "cron_job", "deployment", "service")},
            "volume": st.sampled_from(VOLUME_PATTERNS),
            "container": st.sampled_from(("main", "worker", "c-{name}")),
        },
    )
    ceilings = st.fixed_dictionaries(
        {},
        optional={
            "cpu": st.sampled_from((4, "20", 1000)),
            "mem": st.sampled_from(("512Mi", "1Gi", "1Ti")),
            "gpu": st.sampled_from((0, 2, 8)),
            "disk": st.sampled_from(("1Gi", "1Ti")),
            "pvc": st.sampled_from(("1Gi", "1Ti")),
        },
    )
    more: dict[str, st.SearchStrategy[Any]] = {
        "namespace": st.just("ai-jobs"),
        "registry_secret": st.just("regcred"),
        "own_envs": st.just({"PROJECT_NAME": "{project}", "HOME": "/home/{user}"}),
        "names": names,
        "ceilings": ceilings,
        "cpu_limit_factor": st.sampled_from((1, 2.5)),
        "defaults": _layer("/platform-default", scope, 2),
        "enforce": _layer("/platform", scope, 2),
        "rules": _rules(scope),
        "forbid": _bans(scope),
    }
    # Rules and bans are wanted of profiles; the platform's would hide whether those of parents hold.
    always = {name: more.pop(name) for name in scope.wants if name in more and name not in ("rules", "forbid")}
    made: Data = settings | draw(st.fixed_dictionaries(always, optional=more))
    volumes: Data = dict(made.get("volumes") or {})
    if draw(st.booleans()):
        volumes["allowed_types"] = draw(st.lists(st.sampled_from(VOLUME_TYPES), min_size=1, unique=True))
    return {**made, "volumes": volumes, "gpu_keys": {"slice": "nvidia.com/mig-1g.5gb", "a100": scope.gpu_key}}


@st.composite
def admins(draw: st.DrawFn, scope: Scope) -> Admin:
    """What an admin wrote, free of faults, though it may be so strict that nothing compiles under it."""
    platform = draw(_demands(scope) if scope.wants else st.none() | _demands(scope) | _demands(scope))
    admin = Admin(draw(_files(scope._replace(gpu_key=_gpu_key(platform or {})))), platform)
    try:
        assert admin.setting
    except CompileError:
        reject()
    return admin


def _gpu_key(platform: Data) -> str:
    return str(platform.get("gpuKey") or platform.get("gpu_key") or GPU_KEY)


@st.composite
def attempted(draw: st.DrawFn, about: tuple[str, ...] = (), wants: tuple[str, ...] = ()) -> tuple[Data, Admin]:
    """A run that tries its best against what an admin wrote, and that; both say most about the given fields."""
    action = draw(st.sampled_from(ACTIONS))
    about = about or draw(st.sampled_from(_TOPICS))
    admin = draw(admins(Scope(action, about, wants)))
    # The last one has most parents.
    profile = [*admin.profiles][-1]
    if not is_usable(admin, profile, action):
        admin = admin.lenient
        assume(is_usable(admin, profile, action))
    return draw(attempts(admin, profile, action, about)), admin
