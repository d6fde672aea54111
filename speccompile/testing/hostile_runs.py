"""Hypothesis strategies for runs that try to bypass an admin.

A run says again what profile, platform and base documents say, with other values: the same variables, volumes, keys,
resources and nodes. What would only be refused is taken out again, most of the time, so that most runs compile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.diagnostic import Severity
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.quantity import parse_quantity
from speccompile.schema.field_path import Place, place_of
from speccompile.schema.volume_types import EXISTING, SECRET
from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data
from speccompile.testing.strategies.fields import ACTIONS, field_values, fields_of
from speccompile.testing.strategies.node_placement import NODE_KEYS, NODE_VALUES, REQUIRED
from speccompile.testing.strategies.text import (
    dns_labels,
    dns_subdomains,
    env_names,
    label_keys,
    label_values,
    run_names,
    secret_ids,
    texts,
)
from speccompile.testing.strategies.volumes import VOLUME_NAMES, volumes

_MOSTLY = st.sampled_from((True, True, True, False))
_SEED = ("name", "action", "profile", "project")
_ROUNDS = 8
_DEVICE = "example.com/device"
_RARE = {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}


class Words(NamedTuple):
    """What an admin's documents mention, by what it is."""

    envs: list[str]
    volumes: list[str]
    mounts: list[str]
    labels: list[str]
    annotations: list[str]
    resources: dict[str, list[Any]]
    nodes: dict[str, list[str]]
    tolerations: list[str]
    ports: list[int]
    objects: list[str]


def is_usable(admin: Admin, profile: str | None, action: str) -> bool:
    """Whether a plain run compiles under the profile."""
    return admin.manifests(_plain(admin, profile, action)) is not None


def _plain(admin: Admin, profile: str | None, action: str) -> Data:
    run: Data = {"name": "a", "action": action, **_under(profile), "image": "python"}
    if action == "serve":
        run["service_ports"] = [{"port": 80}]
    for path, constraint in _demanded(admin, profile):
        if constraint.get("required"):
            for value in (constraint.get("options") or ["a"])[:1]:
                _say(run, path, value)
    return run


def _under(profile: str | None) -> Data:
    return {} if profile is None else {"profile": profile}


@st.composite
def attempts(
    draw: st.DrawFn, admin: Admin, profile: str | None, action: str | None = None, about: tuple[str, ...] = ()
) -> Data:
    """A flat run under the profile that contradicts whatever it can, above all in the fields it is about."""
    chosen = action or draw(st.sampled_from(ACTIONS))
    words = _words(admin, profile)
    run: Data = {"name": draw(run_names() | _few(words.objects, "a")), "action": chosen, **_under(profile)}
    if project := draw(st.none() | run_names() | _few(admin.settled("project_profiles") or {}, "team")):
        run["project"] = project
    many = draw(st.booleans())
    values = {
        **field_values(root="/run", gpu_key=str(admin.settled("gpu_key")), many=many, shared=many),
        **_rivals(words, many=many),
    }
    told = {name for one in admin.lineage(profile) for name in admin.profiles[one]} & set(fields_of(chosen))
    told |= set(admin.demands.get("enforce") or {}) & set(fields_of(chosen))
    told = {name for name in sorted({*about, *told} & set(fields_of(chosen))) if draw(_MOSTLY)}
    names = st.lists(st.sampled_from(fields_of(chosen)), max_size=1 if about else 6, unique=True)
    needed = {"image", *(("service_ports",) if chosen == "serve" else ())}
    for name in sorted({*draw(names), *told, *needed}):
        run[name] = draw(values[name])
    for path, constraint in _demanded(admin, profile):
        if constraint.get("required") or draw(st.booleans()):
            _say(run, path, draw(_satisfying(constraint) | _beyond(constraint)))
    return run if draw(st.integers(0, 9)) == 0 else repaired(run, admin)


def repaired(run: Data, admin: Admin) -> Data:
    """The run without what it is refused for, as far as that can be told from the findings."""
    for _ in range(_ROUNDS):
        blamed = sorted(_blamed(run, admin) & set(run) - set(_SEED))
        if not blamed:
            return run
        for name in blamed:
            run = _thinned(run, name, admin)
    return run


def _blamed(run: Data, admin: Admin) -> set[str]:
    """The fields that the errors are about."""
    try:
        admin.compile(run)
    except CompileError as error:
        return {str(found.path[0]) for found in error.diagnostics if found.path and found.severity is Severity.ERROR}
    return set()


def _thinned(run: Data, name: str, admin: Admin) -> Data:
    """The run with only those items of the field that nobody objects to alone."""
    rest = {key: value for key, value in run.items() if key != name}
    value = run[name]
    if isinstance(value, dict):
        fine: Any = {key: one for key, one in value.items() if name not in _blamed({**rest, name: {key: one}}, admin)}
    elif isinstance(value, list):
        fine = [one for one in value if name not in _blamed({**rest, name: [one]}, admin)]
    else:
        fine = None
    return {**rest, name: fine} if fine and len(fine) < len(value) else rest


# What the admin mentions


def _words(admin: Admin, profile: str | None) -> Words:
    layers = [admin.profiles[one] for one in admin.lineage(profile)]
    layers += [layer.get("defaults") or {} for layer in layers]
    layers += [admin.demands.get(name) or {} for name in ("enforce", "defaults")]
    bases = [base for one in admin.lineage(profile) for base in admin.bases_of(one)]
    pods = [template.get("spec") or {} for template in witness.pod_templates(bases) if template]
    words = Words(
        envs=[*(admin.settled("own_envs") or {})],
        volumes=[],
        mounts=[],
        labels=[],
        annotations=[],
        resources={},
        nodes={},
        tolerations=[],
        ports=[],
        objects=["main"],
    )
    for layer in layers:
        _learn(words, layer)
    for name, most in (admin.settled("ceilings") or {}).items():
        amount = parse_quantity(most).value
        words.resources.setdefault(name, []).extend([str(int(amount)), str(int(amount) + 1), str(int(amount) * 2 + 1)])
    for pod in pods:
        words.volumes.extend(volume["name"] for volume in pod.get("volumes") or ())
        _learn_nodes(words, pod.get("nodeSelector") or {}, pod.get("affinity") or {})
        for container in witness.containers(pod):
            words.objects.append(container["name"])
            words.envs.extend(env["name"] for env in container.get("env") or ())
            words.mounts.extend(mount["mountPath"] for mount in container.get("volumeMounts") or ())
    words.objects.extend(sorted({name for pod in pods for name in witness.secrets(pod)}))
    return words


def _learn(words: Words, layer: Data) -> None:
    words.envs.extend(_keys(layer.get("envs"), "name"))
    words.labels.extend(_keys(layer.get("labels"), "name"))
    words.annotations.extend(_keys(layer.get("annotations"), "name"))
    for volume in layer.get("volumes") or ():
        words.volumes.append(volume["name"])
        words.mounts.append(volume["mount_path"])
        words.objects.extend(str(name) for key, name in (volume.get("spec") or {}).items() if key.endswith("name"))
    words.ports.extend(item["port"] for item in layer.get("service_ports") or ())
    words.tolerations.extend(item["key"] for item in layer.get("tolerations") or () if item.get("key"))
    for key, told in (layer.get("resources") or {}).items():
        sides = told if key in ("requests", "limits") else {key: told}
        for name, amount in sides.items():
            amounts = list(amount.values()) if isinstance(amount, dict) else [amount]
            words.resources.setdefault(name, []).extend(amounts)
    selector = layer.get("node_selector") or {}
    if isinstance(selector, list):
        selector = {item["key"]: item["value"] for item in selector}
    _learn_nodes(words, selector, layer.get("affinity") or {})


def _learn_nodes(words: Words, selector: Mapping[str, str], affinity: Data) -> None:
    for key, value in selector.items():
        words.nodes.setdefault(key, []).append(value)
    for requirement in _requirements(affinity.get("nodeAffinity") or {}):
        words.nodes.setdefault(requirement["key"], []).extend(requirement.get("values") or ())


def _requirements(value: Any) -> Iterator[Data]:
    if isinstance(value, dict):
        yield from value.get("matchExpressions") or ()
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _requirements(child)


def _keys(told: Any, key: str) -> Iterable[str]:
    return [item[key] for item in told] if isinstance(told, list) else list(told or {})


# The same said otherwise


def _few(known: Iterable[Any], *others: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([*dict.fromkeys(known), *others])


def _rivals(words: Words, *, many: bool) -> dict[str, st.SearchStrategy[Any]]:
    """For each field in which a run can collide with the admin, values that do."""
    keys = _few(words.nodes, *NODE_KEYS)
    node_values = _few([value for told in words.nodes.values() for value in told], *NODE_VALUES, "elsewhere")
    required = st.lists(
        st.lists(_node_requirements(keys, node_values), min_size=1, max_size=2), min_size=1, max_size=3
    ).map(lambda terms: {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": t} for t in terms]}}})
    labels = st.dictionaries(_few(words.labels, "team") | label_keys(), label_values(), max_size=3)
    annotations = st.dictionaries(_few(words.annotations, "note") | label_keys(), texts(), max_size=3)
    plain = field_values(root="/run", gpu_key="nvidia.com/gpu", many=False, shared=False)
    return {
        "envs": st.dictionaries(_few(words.envs, "HOME") | env_names(), texts(), max_size=3),
        "secrets": st.lists(secret_ids() | _few(words.envs, "S_A"), max_size=3, unique=True),
        **{name: plain[name] | st.just(0) for name in ("run_as_user", "run_as_group", "fs_group")},
        "labels": labels,
        "annotations": annotations | annotations.map(lambda told: {**told, **_RARE}),
        "node_selector": st.dictionaries(keys, node_values, max_size=3),
        "affinity": required | plain["affinity"],
        "tolerations": st.lists(_tolerations(words), max_size=2),
        "resources": _resources(words) | plain["resources"],
        "volumes": _volumes(words, many=many),
        "service_ports": st.lists(
            st.fixed_dictionaries({"port": _few(words.ports, 80, 9090)}, optional={"target_port": _few((80, 8080))}),
            min_size=1,
            max_size=2,
            unique_by=lambda item: item["port"],
        ),
    }


def _node_requirements(keys: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[Data]:
    told = st.lists(values, min_size=1, max_size=2)
    with_values = {"key": keys, "operator": st.sampled_from(("In", "NotIn")), "values": told}
    without = {"key": keys, "operator": st.sampled_from(("Exists", "DoesNotExist"))}
    return st.fixed_dictionaries(with_values) | st.fixed_dictionaries(without)


def _tolerations(words: Words) -> st.SearchStrategy[Data]:
    known = st.fixed_dictionaries({"key": _few(words.tolerations, "zone"), "operator": st.just("Exists")})
    return known | st.just({"operator": "Exists"})


@st.composite
def _resources(draw: st.DrawFn, words: Words) -> Data:
    """Amounts of the admin's own resources and of others: the same, much more, much less."""
    short = {"cpu", "mem", "gpu", "disk"}
    known = {name: told for name, told in words.resources.items() if name != "pvc"}
    amounts = [amount for told in words.resources.values() for amount in told]
    made: Data = {}
    names = draw(st.lists(_few(known, *sorted(short), _DEVICE), max_size=3, unique=True))
    if draw(st.booleans()):
        # Devices count together.
        names = [*dict.fromkeys((*names, "gpu", _DEVICE))]
    for name in names:
        amount = draw(_few([*words.resources.get(name, ()), *(amounts if name in short else ())], 0, 1, 3, 100))
        if name in short:
            made[name] = amount if draw(st.booleans()) else {draw(st.sampled_from(("requests", "limits"))): amount}
        else:
            made.setdefault(draw(st.sampled_from(("requests", "limits"))), {})[name] = amount
    return made


@st.composite
def _volumes(draw: st.DrawFn, words: Words, *, many: bool) -> list[Data]:
    made = draw(volumes(root="/run", shared=many))
    for volume in made:
        if draw(_MOSTLY):
            volume["name"] = draw(_few(words.volumes or VOLUME_NAMES))
        if draw(st.integers(0, 7)) == 0:
            volume["mount_path"] = draw(_few(words.mounts, "/base/0"))
        if volume["volume_type"] == "persistent_volume_claim" and draw(st.booleans()):
            volume["spec"] = {**volume.get("spec", {}), "size": draw(_few(words.resources.get("pvc", ()), "1Gi"))}
        kind = bundled_library().volume_types[volume["volume_type"]]
        if kind.usually in (EXISTING, SECRET) and kind.object_key and draw(st.booleans()):
            volume["spec"] = {
                kind.object_key: draw(_few(words.objects, "other-secrets") | dns_subdomains() | dns_labels())
            }
    return list({volume["name"]: volume for volume in made}.values())


# What rules ask for


def _demanded(admin: Admin, profile: str | None) -> Iterator[tuple[tuple[str, ...], Data]]:
    holders = [admin.demands, *(admin.profiles[one] for one in admin.lineage(profile))]
    for holder in holders:
        for text, constraint in (holder.get("rules") or {}).items():
            place = place_of(text, bundled_library())
            if isinstance(place, Place):
                yield tuple(map(str, place.path)), constraint


def _satisfying(constraint: Data) -> st.SearchStrategy[Any]:
    if constraint.get("options"):
        return st.sampled_from(constraint["options"])
    if "pattern" in constraint:
        return st.from_regex(constraint["pattern"], fullmatch=True)
    bounds = [constraint[name] for name in ("min", "max") if name in constraint]
    return st.sampled_from(bounds or ["a"])


def _beyond(constraint: Data) -> st.SearchStrategy[Any]:
    """What the rule would refuse, if anything."""
    beyond: list[Any] = [0] if "min" in constraint else []
    if "max" in constraint:
        beyond.append(int(parse_quantity(constraint["max"]).value * 2) + 1)
    return st.sampled_from(beyond or ["localhost/elsewhere", "naïve", "S"])


def _say(run: Data, path: tuple[str, ...], value: Any) -> None:
    """Puts the value where the path leads, in a shape that a run may have."""
    if path[0] == "resources":
        short = path[2] in ("gpu", "disk")
        run["resources"] = {path[2]: {path[1]: value}} if short else {path[1]: {path[2]: value}}
    elif len(path) == 1:
        run[path[0]] = [value] if path[0] in ("secrets", "args", "command") else value
    else:
        told = run.get(path[0])
        run[path[0]] = {**(told if isinstance(told, dict) else {}), path[1]: value}
