"""What Seldon's operator makes of a Server and its ServerConfig, and whether a profile still holds of it.

Written from how the operator works and not from the compiler, which it is there to check: documents are decoded into
values of Go types, these are merged by the rules of the library that the operator uses, and encoded again. The tables
of types below hold the part of a pod that tests speak of; a key that they lack raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from speccompile.model.node import Node
from speccompile.model.quantity import parse_quantity
from speccompile.model.source import Layer, Source
from speccompile.testing.node_matcher import fits, nodes_for, selector_matches
from speccompile.yaml_text.from_python import wrap

Data: TypeAlias = dict[str, Any]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
API = "mlops.seldon.io/v1alpha1"
_CAPABILITIES = "SELDON_SERVER_CAPABILITIES"


class Go(NamedTuple):
    """A Go type: `text`, `number`, `truth`, `map`, `slice`, `port`, `struct`, or `pointer` to another."""

    kind: str
    to: Go | None = None
    fields: Mapping[str, Go] = {}


TEXT, NUMBER, TRUTH, MAP, SLICE, PORT = map(Go, ("text", "number", "truth", "map", "slice", "port"))
_ZERO: Mapping[str, Any] = {"text": "", "number": 0, "truth": False, "map": {}, "slice": [], "pointer": None}


def pointer(to: Go) -> Go:
    return Go("pointer", to)


def struct(**fields: Go) -> Go:
    return Go("struct", fields=fields)


_TERMS = struct(**{_REQUIRED: SLICE, _PREFERRED: SLICE})
_HANDLERS = {
    "exec": pointer(struct(command=SLICE)),
    "httpGet": pointer(struct(path=TEXT, port=PORT, host=TEXT, httpHeaders=SLICE)),
    "tcpSocket": pointer(struct(port=PORT, host=TEXT)),
}
_PROBE = struct(**_HANDLERS, initialDelaySeconds=NUMBER, terminationGracePeriodSeconds=pointer(NUMBER))
_IDENTITY = {"runAsUser": pointer(NUMBER), "runAsNonRoot": pointer(TRUTH)}
CONTAINER = struct(
    name=TEXT,
    image=TEXT,
    command=SLICE,
    args=SLICE,
    ports=SLICE,
    env=SLICE,
    resources=struct(limits=MAP, requests=MAP),
    volumeMounts=SLICE,
    livenessProbe=pointer(_PROBE),
    lifecycle=pointer(struct(preStop=pointer(struct(**_HANDLERS)))),
    securityContext=pointer(
        struct(
            **_IDENTITY,
            readOnlyRootFilesystem=pointer(TRUTH),
            allowPrivilegeEscalation=pointer(TRUTH),
            capabilities=pointer(struct(add=SLICE, drop=SLICE)),
        )
    ),
    stdin=TRUTH,
)
POD = struct(
    nodeSelector=MAP,
    nodeName=TEXT,
    priorityClassName=TEXT,
    runtimeClassName=pointer(TEXT),
    schedulerName=TEXT,
    hostNetwork=TRUTH,
    terminationGracePeriodSeconds=pointer(NUMBER),
    automountServiceAccountToken=pointer(TRUTH),
    overhead=MAP,
    tolerations=SLICE,
    volumes=SLICE,
    initContainers=SLICE,
    imagePullSecrets=SLICE,
    topologySpreadConstraints=SLICE,
    containers=SLICE,
    securityContext=pointer(
        struct(
            **_IDENTITY,
            runAsGroup=pointer(NUMBER),
            fsGroup=pointer(NUMBER),
            supplementalGroups=SLICE,
            seccompProfile=pointer(struct(type=TEXT, localhostProfile=pointer(TEXT))),
        )
    ),
    affinity=pointer(
        struct(
            nodeAffinity=pointer(
                struct(**{_REQUIRED: pointer(struct(nodeSelectorTerms=SLICE)), _PREFERRED: SLICE}),
            ),
            podAffinity=pointer(_TERMS),
            podAntiAffinity=pointer(_TERMS),
        )
    ),
)


def decoded(go: Go, data: Any) -> Any:
    """The data as a value of the type; what is not there has the type's zero value."""
    if go.kind == "struct":
        given = data or {}
        unknown = given.keys() - go.fields.keys()
        assert not unknown, f"no field of the types here: {unknown}"
        return {key: decoded(field, given.get(key)) for key, field in go.fields.items()}
    if go.kind == "port":
        return {"is_text": isinstance(data, str), "number": 0, "text": ""} | (
            {} if data is None else {"text": data} if isinstance(data, str) else {"number": data}
        )
    if data is None:
        return _ZERO[go.kind]
    return decoded(go.to, data) if go.to else data


def encoded(go: Go, value: Any) -> Any:
    """The value as data without what says nothing; None for a value that says nothing at all."""
    if go.kind == "struct":
        found = {key: encoded(field, value[key]) for key, field in go.fields.items()}
        return {key: data for key, data in found.items() if data is not None} or None
    if go.kind == "port":
        return (value["text"] if value["is_text"] else value["number"]) or None
    if go.kind == "pointer":
        if value is None or go.to is None:
            return None
        inner = encoded(go.to, value)
        # A pointer is written even where it leads to a zero.
        return inner if inner is not None else {} if go.to.kind == "struct" else value
    return value or None


def merged(go: Go, base: Any, override: Any) -> Any:
    """What the library makes of two values, told to override and to append slices."""
    if go.kind == "struct":
        return {key: merged(field, base[key], override[key]) for key, field in go.fields.items()}
    if go.kind == "port":
        # A struct of three: whether it is text is a number to Go, and a number says no with its zero.
        return {key: override[key] or base[key] for key in base}
    if go.kind == "pointer" and go.to:
        if base is None or override is None:
            return base if override is None else override
        return merged(go.to, base, override)
    if go.kind == "map":
        return {**base, **override}
    return [*base, *override] if go.kind == "slice" else override or base


def written(go: Go, data: Any) -> Any:
    """The data as the API server would give it back."""
    return encoded(go, decoded(go, data))


def written_pod(pod: Data) -> Data:
    """The pod as the API server would give it back."""
    found = [written(CONTAINER, one) for one in pod.get("containers", ())]
    return {**(written(POD, pod) or {}), **({"containers": found} if found else {})}


def pod_of(server: Data, config: Data) -> Data:
    """The pod that the operator makes of the two."""
    base, override = config["spec"]["podSpec"], server["spec"].get("podSpec")
    pod = written(POD, base) or {}
    if override is not None:
        pod = encoded(POD, merged(POD, decoded(POD, base), decoded(POD, override))) or {}
    found = containers_of(base.get("containers", []), (override or {}).get("containers", []))
    spec = server["spec"]
    return {**pod, "containers": [_told(one, spec) for one in found]} if found else pod


def containers_of(base: list[Data], override: list[Data]) -> list[Data]:
    """The Server's containers, each over the ServerConfig's of its name, and then the others of the ServerConfig."""
    found: list[Data] = []
    for one in override:
        same = [other for other in base if other["name"] == one["name"]]
        found += [
            encoded(CONTAINER, merged(CONTAINER, decoded(CONTAINER, other), decoded(CONTAINER, one))) for other in same
        ] or [written(CONTAINER, one)]
    names = [one["name"] for one in override]
    return [*found, *(written(CONTAINER, other) for other in base if other["name"] not in names)]


def _told(container: Data, spec: Data) -> Data:
    """The container whose agent knows the Server's capabilities."""
    whole, extra = spec.get("capabilities") or [], spec.get("extraCapabilities") or []
    if not whole and not extra:
        return container

    def variable(entry: Data) -> Data:
        if entry["name"] != _CAPABILITIES:
            return entry
        value = ",".join(whole) if whole else f"{entry.get('value', '')},{','.join(extra)}"
        return {"name": _CAPABILITIES, "value": value}

    return {**container, "env": [variable(entry) for entry in container["env"]]} if "env" in container else container


# What the scheduler makes of Models


def offered(server: Data, config: Data) -> Data:
    """What each replica of the Server offers: capabilities, and bytes before and with overcommit."""
    pod = pod_of(server, config)
    (agent,) = (one for one in pod["containers"] if one["name"] == "agent")
    env = {entry["name"]: entry for entry in agent["env"]}
    serving = env["MEMORY_REQUEST"]["valueFrom"]["resourceFieldRef"]["containerName"]
    (container,) = (one for one in pod["containers"] if one["name"] == serving)
    amounts = container.get("resources", {})
    memory = amounts.get("requests", {}).get("memory") or amounts.get("limits", {}).get("memory") or "0"
    size = int(parse_quantity(memory).value)
    names = {name.strip() for name in env[_CAPABILITIES].get("value", "").split(",")}
    more = size * int(env["SELDON_OVERCOMMIT_PERCENTAGE"]["value"]) // 100
    return {"capabilities": names, "bytes": size, "advertised": size + more}


def verdict(model: Data, server: Data, config: Data) -> str:
    """Whether the Model is loaded on the Server: `yes`, `partly` or `no`."""
    spec, offer = model["spec"], offered(server, config)
    replicas = server["spec"].get("replicas")
    if replicas is None:
        replicas = server["spec"].get("minReplicas") or 1
    needs = {*spec.get("requirements", ()), *filter(None, [spec.get("modelType")])}
    needs |= {"alibi-explain"} if spec.get("explainer") else set()
    size = int(parse_quantity(spec.get("memory", "0")).value)
    refused = (
        spec.get("server") not in (None, server["metadata"]["name"]),
        replicas == 0,
        not {need.strip() for need in needs} <= offer["capabilities"],
        size > offer["advertised"],
        # The scheduler agrees, and then the agent cannot make room.
        size > offer["bytes"],
    )
    least = spec.get("minReplicas") or 0
    wanted = spec.get("replicas") or (0 if spec.get("replicas") == 0 and spec.get("minReplicas") == 0 else least or 1)
    if any(refused) or (wanted > replicas and not 0 < least <= replicas):
        return "no"
    return "yes" if wanted <= replicas else "partly"


# What a profile fixes


class Fixed(NamedTuple):
    """What a profile fixes, in Kubernetes' own words."""

    node_selector: Mapping[str, str] = {}
    affinity: Mapping[str, Any] = {}
    tolerations: tuple[Data, ...] = ()
    requests: Mapping[str, str] = {}
    limits: Mapping[str, str] = {}
    env: Mapping[str, Data] = {}
    """By name, what a variable has beside it: `value` or `valueFrom`."""
    pod_security: Mapping[str, Any] = {}
    container_security: Mapping[str, Any] = {}
    pod: Mapping[str, Any] = {}
    """Plain fields of the pod, such as `priorityClassName`."""


def obeys(pod: Data, fixed: Fixed, container: str) -> None:
    """Raises AssertionError unless everything that is fixed holds of the merged pod and its container that serves."""
    selector = pod.get("nodeSelector") or {}
    for key, value in fixed.node_selector.items():
        assert selector.get(key) == value, f"node selector {key!r} is {selector.get(key)!r}, and is fixed to {value!r}"
    for node in nodes_for(pod, fixed.node_selector, [fixed.affinity]):
        assert selector_matches(fixed.node_selector, node), f"{node} is let in, and the fixed node selector excludes it"
        assert fits({"affinity": fixed.affinity}, node), f"{node} is let in, and the fixed affinity excludes it"
    for toleration in fixed.tolerations:
        assert _filled(toleration) in map(_filled, pod.get("tolerations") or ()), f"{toleration} is gone"
    (serving,) = (one for one in pod["containers"] if one["name"] == container)
    for side, amounts in (("requests", fixed.requests), ("limits", fixed.limits)):
        found = serving.get("resources", {}).get(side, {})
        for name, amount in amounts.items():
            assert name in found, f"{side} of {name} are gone"
            assert parse_quantity(found[name]) == parse_quantity(amount), f"{side} of {name} are {found[name]}"
    # Of two variables with one name the last counts.
    effective = {entry["name"]: {**entry, "name": None} for entry in serving.get("env", ())}
    for name, told in fixed.env.items():
        assert effective.get(name) == {**told, "name": None}, f"variable {name!r} is {effective.get(name)!r}"
    for where, values in ((pod, fixed.pod_security), (serving, fixed.container_security)):
        _holds(where.get("securityContext") or {}, values)
    _holds(pod, fixed.pod)


def _filled(toleration: Data) -> Data:
    return {"operator": "Equal", "value": "", "key": "", "effect": "", **toleration}


def _holds(found: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        assert found.get(key) == value, f"{key!r} is {found.get(key)!r}, and is fixed to {value!r}"


# Objects to speak of


def thing(kind: str, name: str, namespace: str = "models", /, **spec: Any) -> Data:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def server(name: str = "one", /, *, memory: str | None = None, namespace: str = "models", **spec: Any) -> Data:
    amount = {"containers": [{"name": "mlserver", "resources": {"requests": {"memory": memory}}}]}
    told = {"serverConfig": "mlserver", **({"podSpec": amount} if memory else {}), **spec}
    return thing("Server", name, namespace, **told)


def model(name: str = "churn", /, *, namespace: str = "models", **spec: Any) -> Data:
    return thing("Model", name, namespace, **{"storageUri": "gs://a/b", "requirements": ["sklearn"], **spec})


def config(name: str = "own", /, *, memory: str | None = "4Gi", overcommit: str = "10") -> Data:
    reference = {"resourceFieldRef": {"containerName": "mlserver", "resource": "requests.memory"}}
    env = [
        {"name": "SELDON_SERVER_CAPABILITIES", "value": "sklearn, xgboost"},
        {"name": "SELDON_OVERCOMMIT_PERCENTAGE", "value": overcommit},
        {"name": "MEMORY_REQUEST", "valueFrom": reference},
    ]
    serving = {"name": "mlserver", **({"resources": {"requests": {"memory": memory}}} if memory else {})}
    pod = {"containers": [{"name": "rclone"}, {"name": "agent", "env": env}, serving]}
    return thing("ServerConfig", name, "seldon", podSpec=pod)


def trees(*objects: Any) -> tuple[Node, ...]:
    """The objects as the compiler reads them."""
    found = [wrap(one, Source(f"{at}.yaml", "", Layer.RUN)).documents[0].root for at, one in enumerate(objects)]
    return tuple(found)
