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
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.quantity import parse_quantity
from speccompile.schema.volume_types import EXISTING, SECRET
from speccompile.testing import manifest_facts
from speccompile.testing.accepted_values import (
    Accepted,
    RuleForRuns,
    accepted_values,
    errors_of,
    minimal_runs,
    rules_for,
    satisfying,
    violating,
    with_value,
)
from speccompile.testing.admin import AdminConfig
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.fields import ACTIONS, field_values, fields_for_action
from speccompile.testing.strategies.node_placement import NODE_KEYS, NODE_VALUES, REQUIRED_AFFINITY
from speccompile.testing.strategies.text import (
    any_texts,
    dns_labels,
    dns_subdomains,
    env_names,
    images,
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


def attempts(
    admin: AdminConfig, profile: str | None, action: str | None = None, fields: tuple[str, ...] = ()
) -> st.SearchStrategy[Data]:
    """Flat runs with the profile that contradict it wherever possible, mostly in the given fields."""
    accepted = {one: accepted_values(admin, profile, one) for one in ((action,) if action else ACTIONS)}
    usable = {one: values for one, values in accepted.items() if values.is_usable} or accepted
    set_by_admin = {name for one in admin.lineage(profile) for name in admin.profiles[one]}
    set_by_admin |= set(admin.full_platform.get("enforce") or {})
    mentions, gpu_key = _mentions(admin, profile), str(admin.platform_setting("gpu_key"))
    target = _Target(
        admin,
        tuple((one, values, _images(values)) for one, values in usable.items()),
        {
            many: {
                **field_values(root="/run", gpu_key=gpu_key, many=many, shared=many),
                **_contradictions(mentions, many=many),
            }
            for many in (False, True)
        },
        mentions,
        tuple(rules_for(admin, profile)),
        frozenset({*fields, *set_by_admin}),
        max_others=1 if fields else 6,
    )
    return _attempts(target)


class _Target(NamedTuple):
    """What runs try to bypass, prepared once, because creating strategies costs more than drawing from them."""

    admin: AdminConfig
    actions: tuple[tuple[str, Accepted, st.SearchStrategy[str]], ...]
    """The actions that compile, with what a minimal run needs and with images."""
    values: Mapping[bool, Mapping[str, st.SearchStrategy[Any]]]
    """Strategies by field, by whether there may be many pods."""
    mentions: Mentions
    rules: tuple[RuleForRuns, ...]
    contested: frozenset[str]
    max_others: int
    """The number of other fields to set."""


@st.composite
def _attempts(draw: st.DrawFn, target: _Target) -> Data:
    action, accepted, run_images = draw(st.sampled_from(target.actions))
    minimal = draw(minimal_runs(accepted))
    run: Data = {**minimal, "name": draw(run_names() | _few(target.mentions.objects, minimal["name"]))}
    if accepted.strategy_for("project") is None and (project := draw(st.none() | run_names())):
        run["project"] = project
    values = target.values[draw(st.booleans())]
    allowed = fields_for_action(action)
    contested = {name for name in sorted(target.contested & set(allowed)) if draw(_MOSTLY)}
    names = st.lists(st.sampled_from(allowed), max_size=target.max_others, unique=True)
    for name in sorted({*draw(names), *contested} - {"image"}):
        run[name] = draw(values[name])
    run["image"] = draw(run_images)
    for volume in run.get("volumes", ()):
        if "image" in volume.get("spec", {}):
            volume["spec"] = {**volume["spec"], "image": draw(run_images)}
    for rule in target.rules:
        if rule.constraint.get("required") or draw(st.booleans()):
            run = with_value(run, rule.path, draw(satisfying(rule) if draw(_MOSTLY) else violating(rule)))
    return run if draw(st.integers(0, 9)) == 9 else repaired(run, target.admin, minimal)  # noqa: PLR2004  one in ten


def _images(accepted: Accepted) -> st.SearchStrategy[str]:
    """Mostly images that the admin accepts, if not all are."""
    some = accepted.strategy_for("image")
    return images() if some is None else _MOSTLY.flatmap(lambda is_accepted: some if is_accepted else images())


def repaired(run: Data, admin: AdminConfig, minimal: Data | None = None) -> Data:
    """The run without what causes errors, and with the values of a minimal run instead."""
    minimal = minimal or {key: run[key] for key in _REQUIRED_FIELDS if key in run}
    for _ in range(_MAX_REPAIRS):
        faulty = sorted(_faulty_fields(run, admin) & set(run))
        repairs = {name: _without_faults(run, name, admin, minimal.get(name)) for name in faulty}
        if all(run[name] == value for name, value in repairs.items()):
            break
        run = {name: value for name, value in {**run, **repairs}.items() if value is not None}
    # Errors that are reported elsewhere, or depend on several fields: drop one field after another.
    for name in sorted(run.keys() - minimal.keys()) if errors_of(run, admin) else ():
        run = {key: value for key, value in run.items() if key != name}
        if not errors_of(run, admin):
            break
    return run


def _faulty_fields(run: Data, admin: AdminConfig) -> set[str]:
    """The fields that have errors."""
    return {str(error.path[0]) for error in errors_of(run, admin) if error.path}


def _without_faults(run: Data, name: str, admin: AdminConfig, minimal: Any) -> Any:
    """The items of a field that cause no error on their own, beside those of the minimal value; None for no items."""
    value = run[name]
    if isinstance(value, dict):
        needed = minimal if isinstance(minimal, dict) else {}
        items = (
            {key: one}
            for key, one in value.items()
            if name not in _faulty_fields({**run, name: {**needed, key: one}}, admin)
        )
        valid: Any = dict(needed)
        for item in items:
            valid |= item
        return valid if valid and valid != value else minimal
    if isinstance(value, list):
        valid = [one for one in value if name not in _faulty_fields({**run, name: [one]}, admin)]
        return valid if valid and len(valid) < len(value) else minimal
    return minimal


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
