"""Hypothesis strategies for runs that try to bypass an admin.

A run sets what the profile, the platform and base documents set, to other values: the same variables, volumes, keys,
resources and nodes. Most of the time, fields that cause errors are removed again, so that most runs compile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.isolation_keys import ISOLATION_KEYS
from speccompile.model.diagnostic import Severity
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.quantity import parse_quantity
from speccompile.schema.field_path import FieldLocation, locate_field
from speccompile.schema.volume_types import EXISTING, SECRET
from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.fields import ACTIONS, field_values, fields_for_action
from speccompile.testing.strategies.node_placement import NODE_KEYS, NODE_VALUES, REQUIRED_AFFINITY
from speccompile.testing.strategies.text import (
    any_texts,
    dns_labels,
    dns_subdomains,
    env_names,
    label_keys,
    label_values,
    run_names,
    secret_ids,
)
from speccompile.testing.strategies.volumes import VOLUME_NAMES, volumes

_MOSTLY = st.sampled_from((True, True, True, False))
_REQUIRED_FIELDS = ("name", "action", "profile", "project")
_MAX_REPAIRS = 8
_DEVICE = "example.com/device"
_OBEYED = (
    "aadpodidbinding",
    "cpu-quota.crio.io",
    "example.com/note",
    "io.kubernetes.cri-o.Devices",
    "openshift.io/scc",
)
"""Keys of labels and annotations that runtimes and controllers obey, and one that they do not."""


class Mentions(NamedTuple):
    """The names and values that the admin's documents contain, by kind."""

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


def is_usable(admin: AdminConfig, profile: str | None, action: str) -> bool:
    """Whether a minimal run with the profile compiles."""
    return admin.manifests(_minimal_run(admin, profile, action)) is not None


def _minimal_run(admin: AdminConfig, profile: str | None, action: str) -> Data:
    run: Data = {"name": "a", "action": action, **_profile_field(profile), "image": "python"}
    if action == "serve":
        run["service_ports"] = [{"port": 80}]
    for path, constraint in _rules_for(admin, profile):
        if constraint.get("required"):
            for value in (constraint.get("options") or ["a"])[:1]:
                _set_path(run, path, value)
    return run


def _profile_field(profile: str | None) -> Data:
    return {} if profile is None else {"profile": profile}


@st.composite
def attempts(
    draw: st.DrawFn, admin: AdminConfig, profile: str | None, action: str | None = None, fields: tuple[str, ...] = ()
) -> Data:
    """A flat run with the profile that contradicts it wherever possible, mostly in the given fields."""
    chosen_action = action or draw(st.sampled_from(ACTIONS))
    mentions = _mentions(admin, profile)
    run: Data = {
        "name": draw(run_names() | _few(mentions.objects, "a")),
        "action": chosen_action,
        **_profile_field(profile),
    }
    if project := draw(st.none() | run_names() | _few(admin.platform_setting("project_profiles") or {}, "team")):
        run["project"] = project
    many = draw(st.booleans())
    values = {
        **field_values(root="/run", gpu_key=str(admin.platform_setting("gpu_key")), many=many, shared=many),
        **_contradictions(mentions, many=many),
    }
    allowed = fields_for_action(chosen_action)
    set_by_admin = {name for one in admin.lineage(profile) for name in admin.profiles[one]}
    set_by_admin |= set(admin.full_platform.get("enforce") or {})
    contested = {name for name in sorted({*fields, *set_by_admin} & set(allowed)) if draw(_MOSTLY)}
    names = st.lists(st.sampled_from(allowed), max_size=1 if fields else 6, unique=True)
    required = {"image", *(("service_ports",) if chosen_action == "serve" else ())}
    for name in sorted({*draw(names), *contested, *required}):
        run[name] = draw(values[name])
    for path, constraint in _rules_for(admin, profile):
        if constraint.get("required") or draw(st.booleans()):
            _set_path(run, path, draw(_satisfying(constraint) | _violating(constraint)))
    return run if draw(st.integers(0, 9)) == 0 else repaired(run, admin)


def repaired(run: Data, admin: AdminConfig) -> Data:
    """The run without the fields that cause errors, as far as the findings show them."""
    for _ in range(_MAX_REPAIRS):
        faulty = sorted(_faulty_fields(run, admin) & set(run) - set(_REQUIRED_FIELDS))
        if not faulty:
            return run
        for name in faulty:
            run = _without_faults(run, name, admin)
    return run


def _faulty_fields(run: Data, admin: AdminConfig) -> set[str]:
    """The fields that have errors."""
    try:
        admin.compile(run)
    except CompileError as error:
        return {str(one.path[0]) for one in error.diagnostics if one.path and one.severity is Severity.ERROR}
    return set()


def _without_faults(run: Data, name: str, admin: AdminConfig) -> Data:
    """The run with only those items of the field that cause no error on their own."""
    rest = {key: value for key, value in run.items() if key != name}
    value = run[name]
    if isinstance(value, dict):
        valid: Any = {
            key: one for key, one in value.items() if name not in _faulty_fields({**rest, name: {key: one}}, admin)
        }
    elif isinstance(value, list):
        valid = [one for one in value if name not in _faulty_fields({**rest, name: [one]}, admin)]
    else:
        valid = None
    return {**rest, name: valid} if valid and len(valid) < len(value) else rest


# Names and values in the admin's documents


def _mentions(admin: AdminConfig, profile: str | None) -> Mentions:
    layers = [admin.profiles[one] for one in admin.lineage(profile)]
    layers += [layer.get("defaults") or {} for layer in layers]
    layers += [admin.full_platform.get(name) or {} for name in ("enforce", "defaults")]
    bases = [base for one in admin.lineage(profile) for base in admin.bases_of(one)]
    pods = [template.get("spec") or {} for template in manifest_facts.pod_templates(bases) if template]
    mentions = Mentions(
        envs=[*(admin.platform_setting("own_envs") or {})],
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
        _collect(mentions, layer)
    for name, limit in (admin.platform_setting("ceilings") or {}).items():
        amount = parse_quantity(limit).value
        mentions.resources.setdefault(name, []).extend(
            [str(int(amount)), str(int(amount) + 1), str(int(amount) * 2 + 1)]
        )
    for pod in pods:
        mentions.volumes.extend(volume["name"] for volume in pod.get("volumes") or ())
        _collect_nodes(mentions, pod.get("nodeSelector") or {}, pod.get("affinity") or {})
        for container in manifest_facts.all_containers(pod):
            mentions.objects.append(container["name"])
            mentions.envs.extend(env["name"] for env in container.get("env") or ())
            mentions.mounts.extend(mount["mountPath"] for mount in container.get("volumeMounts") or ())
    mentions.objects.extend(sorted({name for pod in pods for name in manifest_facts.secrets(pod)}))
    return mentions


def _collect(mentions: Mentions, layer: Data) -> None:
    mentions.envs.extend(_keys(layer.get("envs"), "name"))
    mentions.labels.extend(_keys(layer.get("labels"), "name"))
    mentions.annotations.extend(_keys(layer.get("annotations"), "name"))
    for volume in layer.get("volumes") or ():
        mentions.volumes.append(volume["name"])
        mentions.mounts.append(volume["mount_path"])
        mentions.objects.extend(str(name) for key, name in (volume.get("spec") or {}).items() if key.endswith("name"))
    mentions.ports.extend(item["port"] for item in layer.get("service_ports") or ())
    mentions.tolerations.extend(item["key"] for item in layer.get("tolerations") or () if item.get("key"))
    for key, value in (layer.get("resources") or {}).items():
        sides = value if key in ("requests", "limits") else {key: value}
        for name, amount in sides.items():
            amounts = list(amount.values()) if isinstance(amount, dict) else [amount]
            mentions.resources.setdefault(name, []).extend(amounts)
    selector = layer.get("node_selector") or {}
    if isinstance(selector, list):
        selector = {item["key"]: item["value"] for item in selector}
    _collect_nodes(mentions, selector, layer.get("affinity") or {})


def _collect_nodes(mentions: Mentions, selector: Mapping[str, str], affinity: Data) -> None:
    for key, value in selector.items():
        mentions.nodes.setdefault(key, []).append(value)
    for requirement in _requirements(affinity.get("nodeAffinity") or {}):
        mentions.nodes.setdefault(requirement["key"], []).extend(requirement.get("values") or ())


def _requirements(value: Any) -> Iterator[Data]:
    if isinstance(value, dict):
        yield from value.get("matchExpressions") or ()
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _requirements(child)


def _keys(value: Any, key: str) -> Iterable[str]:
    return [item[key] for item in value] if isinstance(value, list) else list(value or {})


# Contradicting values


def _few(mentioned: Iterable[Any], *others: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([*dict.fromkeys(mentioned), *others])


def _contradictions(mentions: Mentions, *, many: bool) -> dict[str, st.SearchStrategy[Any]]:
    """Strategies for fields in which a run can contradict the admin."""
    keys = _few(mentions.nodes, *NODE_KEYS)
    node_values = _few([value for values in mentions.nodes.values() for value in values], *NODE_VALUES, "elsewhere")
    required = st.lists(
        st.lists(_node_requirements(keys, node_values), min_size=1, max_size=2), min_size=1, max_size=3
    ).map(_required_affinity)
    obeyed = _few(_OBEYED, *(pattern.replace("*", "x") for pattern in ISOLATION_KEYS))
    labels = st.dictionaries(_few(mentions.labels, "team") | label_keys() | obeyed, label_values(), max_size=3)
    annotations = st.dictionaries(_few(mentions.annotations, "note") | label_keys() | obeyed, any_texts(), max_size=3)
    plain = field_values(root="/run", gpu_key="nvidia.com/gpu", many=False, shared=False)
    return {
        "envs": st.dictionaries(_few(mentions.envs, "HOME") | env_names(), any_texts(), max_size=3),
        "secrets": st.lists(secret_ids() | _few(mentions.envs, "S_A"), max_size=3, unique=True),
        **{name: plain[name] | st.just(0) for name in ("run_as_user", "run_as_group", "fs_group")},
        "labels": labels,
        "annotations": annotations,
        "node_selector": st.dictionaries(keys, node_values, max_size=3),
        "affinity": required | plain["affinity"],
        "tolerations": st.lists(_tolerations(mentions), max_size=2),
        "resources": _resources(mentions) | plain["resources"],
        "volumes": _volumes(mentions, many=many),
        "service_ports": st.lists(
            st.fixed_dictionaries({"port": _few(mentions.ports, 80, 9090)}, optional={"target_port": _few((80, 8080))}),
            min_size=1,
            max_size=2,
            unique_by=lambda item: item["port"],
        ),
    }


def _required_affinity(terms: list[list[Data]]) -> Data:
    selector_terms = [{"matchExpressions": expressions} for expressions in terms]
    return {"nodeAffinity": {REQUIRED_AFFINITY: {"nodeSelectorTerms": selector_terms}}}


def _node_requirements(keys: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[Data]:
    some_values = st.lists(values, min_size=1, max_size=2)
    with_values = {"key": keys, "operator": st.sampled_from(("In", "NotIn")), "values": some_values}
    without = {"key": keys, "operator": st.sampled_from(("Exists", "DoesNotExist"))}
    return st.fixed_dictionaries(with_values) | st.fixed_dictionaries(without)


def _tolerations(mentions: Mentions) -> st.SearchStrategy[Data]:
    by_key = st.fixed_dictionaries({"key": _few(mentions.tolerations, "zone"), "operator": st.just("Exists")})
    return by_key | st.just({"operator": "Exists"})


@st.composite
def _resources(draw: st.DrawFn, mentions: Mentions) -> Data:
    """Amounts of resources that the admin sets, and of others: equal, much more, much less."""
    short = {"cpu", "mem", "gpu", "disk"}
    by_name = {name: amounts for name, amounts in mentions.resources.items() if name != "pvc"}
    amounts = [amount for some in mentions.resources.values() for amount in some]
    resources: Data = {}
    names = draw(st.lists(_few(by_name, *sorted(short), _DEVICE), max_size=3, unique=True))
    if draw(st.booleans()):
        # A limit applies to the sum of all devices.
        names = [*dict.fromkeys((*names, "gpu", _DEVICE))]
    if draw(st.integers(0, 3)) == 0:
        # Huge pages count as memory, and need memory.
        resources = {"mem": draw(_few(mentions.resources.get("mem", ()), "1Gi")), "limits": {}}
        resources["limits"]["hugepages-2Mi"] = draw(st.sampled_from(("2Mi", "512Mi", "1Ti")))
        names = [name for name in names if name in ("gpu", _DEVICE)]
    for name in names:
        amount = draw(_few([*mentions.resources.get(name, ()), *(amounts if name in short else ())], 0, 1, 3, 100))
        if name in short:
            resources[name] = amount if draw(st.booleans()) else {draw(st.sampled_from(("requests", "limits"))): amount}
        else:
            resources.setdefault(draw(st.sampled_from(("requests", "limits"))), {})[name] = amount
    return resources


@st.composite
def _volumes(draw: st.DrawFn, mentions: Mentions, *, many: bool) -> list[Data]:
    drawn = draw(volumes(root="/run", shared=many))
    for volume in drawn:
        if draw(_MOSTLY):
            volume["name"] = draw(_few(mentions.volumes or VOLUME_NAMES))
        if draw(st.integers(0, 7)) == 0:
            volume["mount_path"] = draw(_few(mentions.mounts, "/base/0"))
        if volume["volume_type"] == "persistent_volume_claim" and draw(st.booleans()):
            volume["spec"] = {**volume.get("spec", {}), "size": draw(_few(mentions.resources.get("pvc", ()), "1Gi"))}
        if volume["volume_type"] == "empty_dir" and draw(st.booleans()):
            in_memory = draw(st.booleans())
            sizes = _few(mentions.resources.get("mem" if in_memory else "disk", ()), "512Mi")
            volume["spec"] = {"size_limit": draw(sizes), "medium": "Memory" if in_memory else ""}
        kind = bundled_library().volume_types[volume["volume_type"]]
        if kind.usually in (EXISTING, SECRET) and kind.object_key and draw(st.booleans()):
            volume["spec"] = {
                kind.object_key: draw(_few(mentions.objects, "other-secrets") | dns_subdomains() | dns_labels())
            }
    return list({volume["name"]: volume for volume in drawn}.values())


# Rules


def _rules_for(admin: AdminConfig, profile: str | None) -> Iterator[tuple[tuple[str, ...], Data]]:
    documents = [admin.full_platform, *(admin.profiles[one] for one in admin.lineage(profile))]
    for document in documents:
        for text, constraint in (document.get("rules") or {}).items():
            place = locate_field(text, bundled_library())
            if isinstance(place, FieldLocation):
                yield tuple(str(step).replace("/*", "/note") for step in place.path), constraint


def _satisfying(constraint: Data) -> st.SearchStrategy[Any]:
    if constraint.get("options"):
        return st.sampled_from(constraint["options"])
    if "pattern" in constraint:
        return st.from_regex(constraint["pattern"], fullmatch=True)
    bounds = [constraint[name] for name in ("min", "max") if name in constraint]
    return st.sampled_from(bounds or ["a"])


def _violating(constraint: Data) -> st.SearchStrategy[Any]:
    """Values that the rule does not allow, if there are any."""
    values: list[Any] = [0] if "min" in constraint else []
    if "max" in constraint:
        values.append(int(parse_quantity(constraint["max"]).value * 2) + 1)
    return st.sampled_from(values or ["localhost/elsewhere", "naïve", "S"])


def _set_path(run: Data, path: tuple[str, ...], value: Any) -> None:
    """Set the value at the path, in the form that a run uses."""
    if path[0] == "resources":
        short = path[2] in ("gpu", "disk")
        run["resources"] = {path[2]: {path[1]: value}} if short else {path[1]: {path[2]: value}}
    elif len(path) == 1:
        run[path[0]] = [value] if path[0] in ("secrets", "args", "command") else value
    else:
        field = run.get(path[0])
        run[path[0]] = {**(field if isinstance(field, dict) else {}), path[1]: value}
