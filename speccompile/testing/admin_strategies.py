"""Hypothesis strategies for profiles, with parents and base documents, and platforms."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import assume, reject
from hypothesis import strategies as st

from speccompile.model.findings import CompileError
from speccompile.model.key_spelling import snake_case
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.testing.accepted_values import accepted_values
from speccompile.testing.admin import AdminConfig
from speccompile.testing.hostile_runs import attempts
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import platforms
from speccompile.testing.strategies.fields import ACTIONS, field_values
from speccompile.testing.strategies.node_placement import affinities, required_affinities, selectors, toleration_items
from speccompile.testing.strategies.resources import GPU_KEY
from speccompile.testing.strategies.text import any_texts, env_names, label_keys, label_values
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
    ('annotations["example.com/*"]', {"pattern": "[a-z]*"}),
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
    'labels["example.com/*"]',
    "runAsUser",
    "command",
    "args",
    "volumes",
    "schedule",
    "secrets",
)
NAME_PATTERNS = ("{name}", "x-{name}", "{project}-{name}", "{id}", "j-{task}-{id}", "{application}-{name}-{project}")
VOLUME_PATTERNS = ("{name}-{volume}", "v-{id}-{volume}", "{project}-{name}-{volume}", "{name}{volume}")


_FIELD_GROUPS: tuple[tuple[str, ...], ...] = (
    ("envs", "secrets", "labels", "annotations"),
    ("volumes", "resources", "envs"),
    ("node_selector", "tolerations", "affinity"),
    ("resources", "image", "args", "command", "priority_class"),
    ("run_as_user", "fs_group", "service_ports", "service_name", "replicas", "schedule", "backoff_limit"),
)
"""Groups of related fields, for properties that concern all fields."""


class Scope(NamedTuple):
    """What to generate: the action of the run, fields to set often, and parts that are required."""

    action: str
    fields: tuple[str, ...]
    requires: tuple[str, ...] = ()
    gpu_key: str = GPU_KEY


@st.composite
def _layer(draw: st.DrawFn, root: str, scope: Scope, max_fields: int) -> Data:
    """Some fields; volumes are mounted below a root that no other layer uses."""
    values = field_values(root=root, gpu_key=scope.gpu_key, many=False, shared=True)
    often = [name for name in scope.fields if draw(_COIN)]
    rarely = draw(st.lists(st.sampled_from(sorted(values)), max_size=1))
    return {name: draw(values[name]) for name in dict.fromkeys((*often[:max_fields], *rarely))}


_COIN = st.booleans()


@cache
def _rules(scope: Scope) -> st.SearchStrategy[Data]:
    related = [rule for rule in _RULES if _head(rule[0]) in scope.fields] or list(_RULES)
    return st.lists(st.sampled_from(related), min_size=int("rules" in scope.requires), max_size=3).map(dict)


@cache
def _bans(scope: Scope) -> st.SearchStrategy[list[str]]:
    related = [ban for ban in _BANS if _head(ban) in scope.fields] or list(_BANS)
    return st.lists(st.sampled_from(related), min_size=int("forbid" in scope.requires), max_size=2, unique=True)


def _head(path: str) -> str:
    return snake_case(path.partition(".")[0])


# Base documents


@cache
def _metadata() -> st.SearchStrategy[Data]:
    return st.fixed_dictionaries(
        {},
        optional={
            "labels": st.dictionaries(label_keys(), label_values(), max_size=2),
            "annotations": st.dictionaries(label_keys(), any_texts(), max_size=2),
        },
    )


@cache
def _env() -> st.SearchStrategy[list[Data]]:
    plain = st.builds(lambda name, value: {"name": name, "value": value}, env_names(), any_texts())
    secret = env_names().map(
        lambda name: {"name": name, "valueFrom": {"secretKeyRef": {"name": "admin-secret", "key": "token"}}}
    )
    return st.lists(plain | secret, max_size=2, unique_by=lambda env: env["name"])


@cache
def _base_volumes() -> st.SearchStrategy[list[Data]]:
    sources: tuple[Data, ...] = (
        {"emptyDir": {}},
        {"configMap": {"name": "admin-config"}},
        {"secret": {"secretName": "admin-secret"}},
        {"hostPath": {"path": "/dev"}},
        {"persistentVolumeClaim": {"claimName": "admin-claim"}},
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
                "tolerations": st.lists(toleration_items(), max_size=2),
                "terminationGracePeriodSeconds": st.just(30),
                "priorityClassName": st.just("admins"),
                "volumes": _base_volumes(),
            },
        )
    )
    mounts = [
        {"name": volume["name"], "mountPath": f"/base/{index}"} for index, volume in enumerate(pod.get("volumes", ()))
    ]
    sidecar = st.fixed_dictionaries(
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
    containers = draw(st.lists(sidecar | main, max_size=2, unique_by=lambda one: str(one["name"])))
    init_containers = draw(st.lists(sidecar, max_size=1).map(lambda items: [{**one, "name": "setup"} for one in items]))
    return (
        pod
        | ({"containers": containers} if containers else {})
        | ({"initContainers": init_containers} if init_containers else {})
    )


_KINDS = {"job": ("Job", "CronJob"), "deploy": ("Deployment",), "serve": ("Deployment", "Service")}


@st.composite
def _bases(draw: st.DrawFn, scope: Scope) -> tuple[Data, ...]:
    kinds = _KINDS[scope.action]
    selected = (
        kinds if "bases" in scope.requires and draw(_COIN) else draw(st.lists(st.sampled_from(kinds), max_size=1))
    )
    return tuple(draw(_base(kind)) for kind in selected)


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
    """Up to three profiles, each extending some of the previous ones."""
    files: list[tuple[Data, ...]] = []
    for identifier in draw(st.permutations(_IDS))[: draw(st.sampled_from((2, 1, 3)))]:
        previous = [file[0]["id"] for file in files]
        key = draw(st.sampled_from((None, None, "amd.com/gpu", "slice")))
        profile: Data = {"id": identifier, **draw(_layer(f"/{identifier}", scope, 5))}
        parts = {
            "extends": draw(st.permutations(previous))[: draw(st.sampled_from((1, 2, 0)))],
            "gpu_key": key,
            "defaults": draw(_layer(f"/{identifier}-default", scope, 2)),
            "rules": draw(_rules(scope)) if "rules" in scope.requires or draw(_COIN) else None,
            "forbid": draw(_bans(scope)) if "forbid" in scope.requires or draw(_COIN) else None,
        }
        profile |= {name: value for name, value in parts.items() if value}
        files.append((profile, *draw(_bases(scope))))
    return tuple(files)


@st.composite
def _platforms(draw: st.DrawFn, scope: Scope) -> Data:
    """A platform with every kind of setting that a property concerns."""
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
        "allowed_keys": st.sampled_from((["openshift.io/*"], ["*"], ["aadpodidbinding"])),
        "jobs": st.just({"deadline_seconds": 3600}),
        "cpu_limit_factor": st.sampled_from((1, 2.5)),
        "defaults": _layer("/platform-default", scope, 2),
        "enforce": _layer("/platform", scope, 2),
        "rules": _rules(scope),
        "forbid": _bans(scope),
    }
    # Rules and bans are required of profiles only: those of the platform would mask missing ones of parents.
    always = {name: more.pop(name) for name in scope.requires if name in more and name not in ("rules", "forbid")}
    platform: Data = settings | draw(st.fixed_dictionaries(always, optional=more))
    volumes: Data = dict(platform.get("volumes") or {})
    if draw(st.booleans()):
        volumes["allowed_types"] = draw(st.lists(st.sampled_from(VOLUME_TYPES), min_size=1, unique=True))
    return {**platform, "volumes": volumes, "gpu_keys": {"slice": "nvidia.com/mig-1g.5gb", "a100": scope.gpu_key}}


@st.composite
def admins(draw: st.DrawFn, scope: Scope) -> AdminConfig:
    """Valid profiles and platform, possibly so strict that no run compiles."""
    platform = draw(_platforms(scope) if scope.requires else st.none() | _platforms(scope) | _platforms(scope))
    admin = AdminConfig(draw(_files(scope._replace(gpu_key=_gpu_key(platform or {})))), platform)
    try:
        assert admin.setting
    except CompileError:
        reject()
    return admin


def _gpu_key(platform: Data) -> str:
    return str(platform.get("gpuKey") or platform.get("gpu_key") or GPU_KEY)


@st.composite
def attempted(
    draw: st.DrawFn, fields: tuple[str, ...] = (), requires: tuple[str, ...] = ()
) -> tuple[Data, AdminConfig]:
    """Profiles and a platform, and a run that tries to bypass them, mostly in the given fields."""
    action = draw(st.sampled_from(ACTIONS))
    fields = fields or draw(st.sampled_from(_FIELD_GROUPS))
    admin = draw(admins(Scope(action, fields, requires)))
    # The last one has the most parents.
    profile = [*admin.profiles][-1]
    if not accepted_values(admin, profile, action).is_usable:
        admin = admin.lenient
        assume(accepted_values(admin, profile, action).is_usable)
    return draw(attempts(admin, profile, action, fields)), admin
