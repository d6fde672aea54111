"""Takes what a law is about, gives hypothesis strategies for each noun: runs, profiles, platforms, texts, JSON trees.

What they draw is valid, and made so that nearly every combination compiles: requests lie below limits whoever sets
them, run and profile mount below folders of their own, environment variables and secrets have names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, TypeAlias

from hypothesis import strategies as st

from speccompile import Compiled, compile_run
from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.key_spelling import camel_case, snake_case
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.object_names import object_name
from speccompile.schema.library import Schema

Data: TypeAlias = dict[str, Any]

ACTIONS = ("job", "deploy", "serve")
GPU_KEY = "nvidia.com/gpu"
STORE = "{project}-secrets"


class Case(NamedTuple):
    """A run and what it is compiled under."""

    run: Data
    profile: Data | None = None
    platform: Data | None = None

    def compile(self) -> Compiled:
        return compile_run(self.run, profiles=[self.profile] if self.profile else [], platform=self.platform)

    def copy(self) -> Case:
        return deepcopy(self)


# Strategies cost more to make than to draw from, so each is made once.


@lru_cache(maxsize=None, typed=True)
def _integers(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


@lru_cache(maxsize=None, typed=True)
def _among(*choices: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(choices)


def _mapping(
    required: Mapping[str, st.SearchStrategy[Any]] | None = None,
    optional: Mapping[str, st.SearchStrategy[Any]] | None = None,
) -> st.SearchStrategy[Data]:
    return st.fixed_dictionaries(dict(required or {}), optional=dict(optional or {}))


_coins = st.booleans()
_seldom = st.sampled_from((False, False, True))
_often = st.sampled_from((False, True, True, True))


# Text, and names of all kinds

TRAPS = (
    "",
    " ",
    "  two  ",
    "no",
    "on",
    "y",
    "null",
    "~",
    "<<",
    "=",
    "012",
    "1:30",
    "1e3",
    "0x1f",
    "-1",
    ".inf",
    "2026-01-01",
    "- item",
    "key: value",
    "key:",
    "#comment",
    "text #comment",
    "&anchor",
    "*alias",
    "!!python/object/apply:os.system [id]",
    "%YAML 1.1",
    "---",
    "...",
    "| block",
    "> folded",
    "'",
    '"',
    "\\",
    "\\n",
    "{}",
    "[]",
    "{a: b}",
    "{{ spec.image }}",
    "{{ 7 * 7 }}",
    "{{ ''.__class__.__mro__ }}",
    "{% for x in y %}",
    "{% raw %}",
    "{# comment #}",
    "${HOME}",
    "$(HOME)",
    "<script>alert(1)</script>",
    "&lt;&amp;",
    "\n",
    "one\ntwo",
    "one\ntwo\n",
    "\none\n\n two \n\n",
    "tab\tbed",
    "carriage\r\nreturn",
    "trailing \n spaces ",
    "\ue000",
    "\ue0000\ue001",
    "a\ue0001\ue001b",
    "\ue002kubernetes/job.yaml.j2:1\ue003",
    "\u2028\u2029",
    "\ufeffmark",
    "\u202eright to left",
    "שלום עולם",
    "naïve – ünïcode",
    "😀",
    "e\u0301",
    "\u00a0",
)
"""What has fooled some reader, template engine or terminal before."""

_characters = st.characters(
    exclude_categories=("Cs", "Cc"), include_characters="\t\n\r", exclude_characters="\ufffe\uffff"
)


@cache
def texts() -> st.SearchStrategy[str]:
    """Any text a run may hold, the traps often."""
    pieces = st.lists(st.sampled_from(TRAPS), min_size=2, max_size=3).map("".join)
    return st.sampled_from(TRAPS) | pieces | st.text(_characters, max_size=12)


@cache
def one_line_texts() -> st.SearchStrategy[str]:
    """Text without tabs and line ends, as paths have it."""
    return texts().map(lambda text: "".join(character for character in text if character.isprintable()))


@cache
def _joined(first: str, middle: str, last: str, longest: int) -> st.SearchStrategy[str]:
    """Short text of the alphabets for its first character, those between, and its last."""
    inner = st.text(middle, max_size=longest - 2)
    return st.sampled_from(first) | st.builds("{}{}{}".format, st.sampled_from(first), inner, st.sampled_from(last))


_LOWER = "abcxyz"
_DIGITS = "0179"
_ALL = _LOWER + _LOWER.upper() + _DIGITS


@cache
def dns_labels(longest: int = 10) -> st.SearchStrategy[str]:
    return _joined(_LOWER + _DIGITS, _LOWER + _DIGITS + "-", _LOWER + _DIGITS, longest)


@cache
def dns_1035_labels() -> st.SearchStrategy[str]:
    return _joined(_LOWER, _LOWER + _DIGITS + "-", _LOWER + _DIGITS, 10)


@cache
def dns_subdomains() -> st.SearchStrategy[str]:
    return st.lists(dns_labels(6), min_size=1, max_size=3).map(".".join)


@cache
def run_names() -> st.SearchStrategy[str]:
    """Good names, names that look like those made for bad ones, long ones, and any text at all."""
    hashed = st.builds("{}-x{}".format, dns_labels(), st.text("0123456789abcdef", min_size=10, max_size=10))
    return st.one_of(
        dns_labels(),
        dns_labels(70),
        hashed,
        st.text("aA1-. _/é", min_size=1, max_size=6),
        texts().filter(bool),
        st.text(_characters, min_size=60, max_size=66),
    )


@cache
def label_keys() -> st.SearchStrategy[str]:
    names = _joined(_ALL, _ALL + "-_.", _ALL, 8)
    return _among("team", "tier", "example.com/team") | names | st.builds("{}/{}".format, dns_subdomains(), names)


@cache
def label_values() -> st.SearchStrategy[str]:
    return _among("", "a", "b", "no", "1e3", "012") | _joined(_ALL, _ALL + "-_.", _ALL, 12)


@cache
def env_names() -> st.SearchStrategy[str]:
    """Names of variables; those of secrets begin with `S_`."""
    return _among("HOME", "HF_HOME", "no", "a.b-c") | _joined("_ABCabc", "_ABC-.09", "_AZ09", 8).filter(
        lambda name: not name.startswith("S_")
    )


@cache
def secret_ids() -> st.SearchStrategy[str]:
    return st.text("AB_-.09", max_size=3).map("S_{}".format)


@cache
def images() -> st.SearchStrategy[str]:
    return st.builds(
        "{}{}{}{}".format,
        _among("", "ghcr.io/", "localhost:5000/", "registry.example.com/team/"),
        _among("python", "train", "a/b", "my__app-x.y", "0"),
        _among("", ":3.12", ":latest", ":1", ":1e3", ":v1.0_x-Y"),
        _among("", "@sha256:" + "0123456789abcdef" * 4),
    )


@cache
def json_trees() -> st.SearchStrategy[Any]:
    """Any JSON value that Python, YAML and Kubernetes can hold alike."""
    numbers = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(-(2.0**62), 2.0**62)
    return st.recursive(
        st.none() | st.booleans() | numbers | texts(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3),
        max_leaves=6,
    )


@cache
def json_objects() -> st.SearchStrategy[Data]:
    return st.dictionaries(texts(), json_trees(), max_size=3)


# Quantities

_UNITS = ("", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi", "n", "u", "e3", "E-2", "e0")

Amount: TypeAlias = str | int | float


@cache
def quantities() -> st.SearchStrategy[Amount]:
    """Any quantity, in any spelling, from nothing to the largest there is."""
    numbers = _among("0", "1", "7", "12", ".5", "1.", "0.001", "00010", "1023.25", "+3")
    return st.one_of(
        st.builds("{}{}".format, numbers, st.sampled_from(_UNITS)),
        _among("7Ei", "9E", ".5Ei", "9223372036854775807", "1e18"),
        st.integers(0, 2**63 - 1),
        st.floats(0, 2.0**40).map(lambda number: round(number, 6)),
    )


def _cores(count: int) -> tuple[Amount, ...]:
    return (count, str(count), f"{count}000m", f"{count}.0", float(count), f"{count}e0")


def _mebibytes(count: int) -> tuple[Amount, ...]:
    return (f"{count}Mi", f"{count * 1024}Ki", count * 2**20, str(count * 2**20), f"{float(Fraction(count, 1024))}Gi")


def _pieces(count: int) -> tuple[Amount, ...]:
    return (count, str(count), f"{count}000m")


@cache
def sizes() -> st.SearchStrategy[Amount]:
    """More than nothing, in bytes, in any spelling."""
    return st.builds(lambda count, turn: _mebibytes(count)[turn], _integers(1, 2**20), _integers(0, 4))


class _Resource(NamedTuple):
    """A resource by its short and full name, how an amount of it is spelled, and how much of it is asked for."""

    short: str | None
    name: str
    spellings: Callable[[int], tuple[Amount, ...]]
    request: range
    both: range
    """A single amount that is request and limit at once lies between those of its own."""
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
        _Resource("gpu", gpu_key, _pieces, few, few, few),
        _Resource(None, "nvidia.com/mig-1g.5gb", _pieces, few, few, few),
        _Resource(None, "hugepages-2Mi", _mebibytes, few, few, few),
    )


@st.composite
def resources(draw: st.DrawFn, gpu_key: str = GPU_KEY) -> Data:
    """Resources in every shape, each resource in one of them."""

    def amount(kind: _Resource, counts: range) -> Amount:
        spellings = kind.spellings(draw(_integers(counts[0], counts[-1])))
        return spellings[draw(_integers(0, 11)) % len(spellings)]

    made: Data = {}
    for kind in _resource_kinds(gpu_key):
        shape = draw(_among("absent", "scalar", "pair", "map") if kind.short else _among("absent", "absent", "map"))
        if shape == "absent":
            continue
        if shape == "scalar":
            # A single `disk` is request and limit at once; any other is a request.
            made[str(kind.short)] = amount(kind, kind.both if kind.short == "disk" else kind.request)
            continue
        sides = draw(_among(("requests",), ("limits",), ("requests", "limits")))
        if kind.whole:
            count = draw(_integers(kind.both[0], kind.both[-1]))
            amounts = {side: amount(kind, range(count, count + 1)) for side in sides}
        else:
            amounts = {side: amount(kind, kind.request if side == "requests" else kind.limit) for side in sides}
        if shape == "pair":
            made[str(kind.short)] = amounts
        else:
            for side, quantity in amounts.items():
                made.setdefault(side, {})[kind.name] = quantity
    return made


# Where pods go

NODE_KEYS = ("zone", "size", "example.com/pool")
NODE_VALUES = ("a", "1", "5", "")
NODE_NAMES = ("n1", "n2")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@cache
def selectors() -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(_among(*NODE_KEYS), _among(*NODE_VALUES), max_size=2)


@cache
def _node_selectors() -> st.SearchStrategy[Any]:
    return selectors() | selectors().map(lambda chosen: [{"key": key, "value": value} for key, value in chosen.items()])


@cache
def tolerations() -> st.SearchStrategy[Data]:
    effects = {"effect": _among("NoSchedule", "PreferNoSchedule", "NoExecute")}
    equal = {"operator": st.just("Equal"), "value": _among(*NODE_VALUES)}
    seconds = {"effect": st.just("NoExecute"), "tolerationSeconds": _among(-1, 0, 300, 2**63 - 1)}
    return st.one_of(
        _mapping({"operator": st.just("Exists")}, {"key": _among(*NODE_KEYS), "value": st.just("")} | effects),
        _mapping({"key": _among(*NODE_KEYS)}, equal | effects),
        _mapping({"key": _among(*NODE_KEYS)} | seconds, equal),
    )


@cache
def _requirements(*, numeric: bool) -> st.SearchStrategy[Data]:
    key = {"key": _among(*NODE_KEYS)}
    values = st.lists(_among(*NODE_VALUES), min_size=1, max_size=3)
    kinds = [
        _mapping(key | {"operator": _among("In", "NotIn"), "values": values}),
        _mapping(key | {"operator": _among("Exists", "DoesNotExist")}, {"values": st.builds(list)}),
    ]
    if numeric:
        numbers = st.lists(_among("0", "1", "3", "5"), min_size=1, max_size=1)
        kinds.append(_mapping(key | {"operator": _among("Gt", "Lt"), "values": numbers}))
    return st.one_of(kinds)


@cache
def _node_terms() -> st.SearchStrategy[Data]:
    name = _mapping(
        {
            "key": st.just("metadata.name"),
            "operator": _among("In", "NotIn"),
            "values": st.lists(_among(*NODE_NAMES), min_size=1, max_size=1),
        }
    )
    expressions = {"matchExpressions": st.lists(_requirements(numeric=True), min_size=1, max_size=2)}
    names = {"matchFields": st.lists(name, min_size=1, max_size=1)}
    return _mapping(expressions, names) | _mapping(names)


@cache
def _required_nodes() -> st.SearchStrategy[Data]:
    return _mapping({"nodeSelectorTerms": st.lists(_node_terms(), min_size=1, max_size=3)})


@st.composite
def placements(draw: st.DrawFn, count: int) -> list[Data]:
    """The `node_selector` and `affinity` of several layers, which often require the same of nodes."""
    pool = draw(st.lists(_requirements(numeric=True), min_size=1, max_size=4))
    terms = st.lists(st.lists(st.sampled_from(pool), min_size=1, max_size=2), min_size=1, max_size=3)
    related = terms.map(
        lambda chosen: {
            "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": term} for term in chosen]}}
        }
    )
    layer = _mapping(optional={"node_selector": selectors(), "affinity": related | affinities()})
    return deepcopy([draw(layer) for _ in range(count)])


@cache
def _pod_affinities() -> st.SearchStrategy[Data]:
    selector = _mapping(
        optional={
            "matchLabels": st.dictionaries(label_keys(), label_values(), max_size=2),
            "matchExpressions": st.lists(_requirements(numeric=False), max_size=2),
        }
    )
    key = {"topologyKey": _among(*NODE_KEYS)}
    spaces = {"namespaceSelector": selector, "namespaces": st.lists(dns_labels(), max_size=2)}
    keys = {name: st.lists(label_keys(), max_size=1) for name in ("matchLabelKeys", "mismatchLabelKeys")}
    term = _mapping(key, spaces) | _mapping(key | {"labelSelector": selector}, spaces | keys)
    preferred = _mapping({"weight": _integers(1, 100), "podAffinityTerm": term})
    return _mapping(optional={REQUIRED: st.lists(term, max_size=2), PREFERRED: st.lists(preferred, max_size=2)})


@cache
def required_affinities() -> st.SearchStrategy[Data]:
    """What nodes must be like, and nothing else."""
    return _mapping({"nodeAffinity": _mapping({REQUIRED: _required_nodes()})})


@cache
def affinities() -> st.SearchStrategy[Data]:
    preferred = _mapping({"weight": _integers(1, 100), "preference": _node_terms()})
    nodes = _mapping(optional={REQUIRED: _required_nodes(), PREFERRED: st.lists(preferred, max_size=2)})
    return _mapping(
        optional={"nodeAffinity": nodes, "podAffinity": _pod_affinities(), "podAntiAffinity": _pod_affinities()}
    )


# Volumes

VOLUME_NAMES = ("data", "cache", "a-b", "models")
ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
SHARED_MODES = ("ReadOnlyMany", "ReadWriteMany")
VOLUME_TYPES = ("persistent_volume_claim", "config_map", "secret", "empty_dir", "ephemeral", "shared_volume", "image")


@cache
def config_keys() -> st.SearchStrategy[str]:
    return _among("app.yaml", "no", "a") | _joined(_ALL, _ALL + "-_.", _ALL, 8)


@cache
def _volume_specs(*, shared: bool) -> Mapping[str, st.SearchStrategy[Data]]:
    """What a volume of each type says."""
    claim = {"size": sizes(), "storage_class": dns_subdomains()}
    one_pod = _mapping(optional=claim | {"access_mode": _among(*ACCESS_MODES)})
    many_pods = _mapping({"access_mode": _among(*SHARED_MODES)}, claim)
    named = _mapping(optional={"name": dns_subdomains()})
    data = st.dictionaries(config_keys(), texts(), min_size=1, max_size=3)
    return {
        "persistent_volume_claim": many_pods if shared else one_pod,
        "config_map": named | _mapping({"data": data}),
        "secret": named,
        "empty_dir": _mapping(optional={"size_limit": sizes(), "medium": _among("", "Memory")}),
        "ephemeral": one_pod,
        "shared_volume": _mapping(optional={"claim_name": dns_subdomains()}),
        "image": _mapping({"image": images()}) | _mapping({"reference": images()}),
    }


@cache
def _sub_paths() -> st.SearchStrategy[str]:
    return one_line_texts().map(lambda text: f"x{text}".replace("..", "__"))


@cache
def _mount_tails() -> st.SearchStrategy[str]:
    return st.just("") | _sub_paths().map(lambda text: text.replace(":", "").replace("/", "") + "/")


@cache
def _volume_names() -> st.SearchStrategy[list[str]]:
    return st.lists(_among(*VOLUME_NAMES) | dns_labels(), min_size=1, max_size=4, unique=True)


@st.composite
def volumes(draw: st.DrawFn, *, root: str = "/run", shared: bool = False) -> list[Data]:
    """Volumes of all types, mounted below the root; shared claims are fit for several pods."""
    made = []
    for index, name in enumerate(draw(_volume_names())):
        kind = draw(_among(*VOLUME_TYPES))
        spec = draw(_volume_specs(shared=shared)[kind])
        volume: Data = {"volume_type": kind, "name": name, "mount_path": f"{root}/{index}{draw(_mount_tails())}"}
        if draw(_coins):
            volume["read_only"] = draw(_coins)
        if draw(_coins):
            inside = bool(draw(_coins))
            (spec if inside else volume)["sub_path"] = draw(_sub_paths())
        if draw(_coins) or spec:
            volume["spec"] = spec
        made.append(volume)
    return made


# Fields, and the documents they make up

_RICH = frozenset({"volumes", "resources", "envs", "affinity", "tolerations", "schedule", "parameters"})
"""Fields of many shapes, which are drawn more often."""
_SCHEDULES = ("5 4 * * *", "@daily", "@every 1h30m", "*/5 0-6 1,15 JAN-MAR mon", "? * ? * ?", " 0 0 * * * ")


@cache
def _service_ports() -> st.SearchStrategy[list[Data]]:
    ports = _among(80, 443, 8080, 1, 65535)
    item = _mapping({"port": ports}, {"target_port": ports})
    return st.lists(item, min_size=1, max_size=3, unique_by=lambda port: port["port"])


@cache
def field_values(*, root: str, gpu_key: str, many: bool, shared: bool) -> Mapping[str, st.SearchStrategy[Any]]:
    """A strategy for each field of the schema; one that nobody has thought of here takes the schema's examples."""
    words = st.lists(texts(), max_size=3)
    envs = st.dictionaries(env_names(), texts(), max_size=3)
    user_ids = _among(1, 1000, 2**31 - 1, "1", "8877")
    any_count = _among(0, 1, 2, 7, 2**31 - 1)
    pods = any_count if many else _among(0, 1)
    known: dict[str, st.SearchStrategy[Any]] = {
        "image": images(),
        "image_pull_policy": _among("Always", "IfNotPresent", "Never"),
        "command": words | texts().filter(bool),
        "args": words,
        "envs": envs | envs.map(lambda chosen: [{"name": name, "value": value} for name, value in chosen.items()]),
        "secrets": st.lists(secret_ids(), max_size=3, unique=True),
        "volumes": st.builds(list) | volumes(root=root, shared=shared),
        "resources": resources(gpu_key),
        "node_selector": _node_selectors(),
        "tolerations": st.lists(tolerations(), max_size=3),
        "affinity": required_affinities() | affinities(),
        "fs_group": user_ids,
        "run_as_user": user_ids,
        "run_as_group": user_ids,
        "runtime_class": dns_subdomains(),
        "priority_class": dns_subdomains(),
        "service_account": dns_subdomains(),
        "replicas": pods,
        "service_type": _among("ClusterIP", "NodePort", "LoadBalancer"),
        "service_ports": _service_ports(),
        "service_name": dns_1035_labels().map("alias-{}".format),
        "schedule": _among(*_SCHEDULES),
        "backoff_limit": any_count,
        "deadline_seconds": _among(1, 3600, 2**31 - 1),
        "ttl_seconds": any_count,
        "parallelism": pods,
        "completions": any_count,
        "suspend": _coins,
        "labels": st.dictionaries(label_keys(), label_values(), max_size=3),
        "annotations": st.dictionaries(label_keys(), texts(), max_size=3),
        "inputs": json_objects(),
        "parameters": json_objects(),
    }
    others = {name: schema for name, schema in _fields().items() if name not in known}
    return {name: st.sampled_from(schema["examples"]) for name, schema in others.items()} | known


def _fields() -> Mapping[str, Schema]:
    """The fields of all targets."""
    return {name: schema for name, schema in bundled_library().fields.items() if "x-targets" not in schema}


def fields_of(action: str) -> tuple[str, ...]:
    """The fields a run with the action may have."""
    return tuple(name for name, schema in _fields().items() if action in schema.get("x-actions", ACTIONS))


def _setting(platform: Data | None, *path: str) -> Any:
    """What the platform says at the path, in whatever spelling; None where it says nothing."""
    value: Any = respelled(platform or {}, snake_case)
    for step in path:
        value = (value or {}).get(step)
    return value


@st.composite
def runs(
    draw: st.DrawFn,
    *,
    action: str | None = None,
    platform: Data | None = None,
    spelling: bool = True,
    always: tuple[str, ...] = (),
) -> Data:
    """A valid run in the flat form that compiles under the platform.

    `spelling` mixes in camelCase and nulls; the fields in `always` are there, if the action has them.
    """
    made: Data = {"name": draw(run_names()), "action": action or draw(_among(*ACTIONS))}
    if draw(_coins):
        made["project"] = draw(run_names())
    many = draw(_coins)
    fields = field_values(root="/run", gpu_key=_setting(platform, "gpu_key") or GPU_KEY, many=many, shared=many)
    always = (*always, "image", *(("service_ports",) if made["action"] == "serve" else ()))
    for name in fields_of(made["action"]):
        if name in always or draw(_coins if name in _RICH else _seldom):
            made[name] = draw(fields[name])
    _mount_what_is_allowed(made, platform)
    return draw(_respelled(made, nulls=("project", "args", "node_selector", "replicas"))) if spelling else made


def _mount_what_is_allowed(run: Data, platform: Data | None) -> None:
    """Keeps of what exists already only what the platform lets a run mount; of Secrets, its project's store."""
    existing, foreign = _setting(platform, "volumes", "allow_existing"), _setting(platform, "secrets", "allow_foreign")
    store = str(_setting(platform, "secrets", "store") or STORE)
    for volume in run.get("volumes", ()):
        kind, spec = volume["volume_type"], volume.get("spec", {})
        if kind == "secret" and not foreign:
            name = store.replace("{project}", object_name(run.get("project", "default")))
            volume["spec"] = {**spec, "name": name}
        exists = kind in ("secret", "shared_volume") or (kind == "config_map" and "data" not in spec)
        if exists and not existing and not (kind == "secret" and foreign):
            kept = {key: value for key, value in spec.items() if key == "sub_path"}
            volume |= {"volume_type": "empty_dir", "spec": kept}


@st.composite
def profiles(
    draw: st.DrawFn, *, platform: Data | None = None, spelling: bool = True, always: tuple[str, ...] = ()
) -> Data:
    """A valid profile, with fields for all actions, that suits every run; the fields in `always` are there."""
    made: Data = {"id": draw(_among("default", "1xa100", "no", "1e3"))}
    if draw(_seldom):
        made |= {"name": draw(texts()), "description": draw(texts())}
    gpu_key = _setting(platform, "gpu_key") or GPU_KEY
    for name, values in field_values(root="/profile", gpu_key=gpu_key, many=False, shared=True).items():
        if name in always or draw(_coins if name in _RICH else _seldom):
            made[name] = draw(values)
    return draw(_respelled(made, nulls=("args", "node_selector", "labels"))) if spelling else made


@cache
def platforms() -> st.SearchStrategy[Data]:
    """A valid platform; what it leaves out is the built-in platform's."""
    claim = {"size": sizes(), "storage_class": dns_subdomains(), "access_mode": _among(*ACCESS_MODES)}
    disk = {"as": _among("ephemeral-storage", "volume"), "mount_path": st.just("/mnt/scratch")}
    secrets = {"store": _among("s-{project}", "{project}.secrets", STORE), "allow_foreign": _coins}
    security = {"disable_root": _coins, "seccomp_profile": _among("RuntimeDefault", "Unconfined")}
    settings = {
        "gpu_key": _among(GPU_KEY, "amd.com/gpu"),
        "memory_limit_factor": _among(1, 1.1, 1.5, 2, 3.75, 100),
        "service_type": _among("ClusterIP", "NodePort", "LoadBalancer"),
        "pvc": _mapping(optional=claim),
        "disk": _mapping(optional=disk),
        "secrets": _mapping(optional=secrets),
        "security": _mapping(optional=security),
        "volumes": _mapping({"allow_existing": _often}),
    }
    return _mapping(optional=settings).flatmap(lambda made: _respelled(made, nulls=("pvc", "memory_limit_factor")))


@st.composite
def cases(  # noqa: PLR0913  each narrows what a law is about
    draw: st.DrawFn,
    *,
    action: str | None = None,
    built_in: bool = False,
    alone: bool = False,
    spelling: bool = True,
    always: tuple[str, ...] = (),
) -> Case:
    """A run, mostly with a profile that it names or gets by default, and sometimes with a platform.

    `built_in` leaves the platform out, and `alone` the profile; fields in `always` are there, in run and profile.
    """
    platform = None if built_in or draw(_coins) else draw(platforms())
    run = draw(runs(action=action, platform=platform, spelling=spelling, always=always))
    if alone or not (draw(_often) or always):
        return Case(run, None, platform)
    profile = draw(profiles(platform=platform, spelling=spelling, always=always))
    if profile["id"] != "default":
        run["profile"] = profile["id"]
    elif draw(_coins):
        run["profile"] = draw(_among("", "default"))
    return Case(run, profile, platform)


# Other ways to write the same

_USERS_OWN = frozenset(
    {
        "inputs",
        "parameters",
        "labels",
        "annotations",
        "envs",
        "data",
        "matchLabels",
        "requests",
        "limits",
        "node_selector",
    }
)
"""Mappings whose keys are not ours to spell."""


_spellings = st.sampled_from((0, 2**64 - 1)) | st.integers(0, 2**64 - 1)


@st.composite
def _respelled(draw: st.DrawFn, data: Data, nulls: tuple[str, ...] = ()) -> Data:
    """The same document with some keys in their other spelling, and some of the absent ones null."""
    coins = draw(_spellings)
    tossed = 0

    def heads() -> bool:
        nonlocal tossed
        tossed += 1
        return bool(coins >> tossed % 64 & 1)

    def spelling(key: str) -> str:
        return key if heads() else camel_case(key) if "_" in key else snake_case(key)

    written: Data = respelled(data, spelling)
    return written | {name: None for name in nulls if name not in data and heads()}


def respelled(value: Any, spelling: Callable[[str], str]) -> Any:
    """The tree with every key of ours in another spelling; keys of the user's own stay."""
    if isinstance(value, list):
        return [respelled(item, spelling) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        spelling(key): child if key in _USERS_OWN and isinstance(child, dict) else respelled(child, spelling)
        for key, child in value.items()
    }
