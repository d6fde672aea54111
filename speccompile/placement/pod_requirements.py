"""Requirements of a PodSpec on nodes, as plain data with paths.

Pods with the same requirements have equal values, so that results can be shared; paths lead back to the origin in each
PodSpec. Values that the API server would reject are reported as `InvalidField`, not raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.quantity import NANOS, QuantityError, parse_quantity

CPU = "cpu"
ANY_ADDRESS, TCP = "0.0.0.0", "TCP"  # noqa: S104  nothing is bound to it
_ALWAYS = "Always"
_MILLIS = NANOS // 1000
_REQUIRED: KeyPath = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_BASIC_RESOURCES = frozenset({CPU, "memory", "ephemeral-storage"})
_PREFIXES = ("hugepages-", "attachable-volumes-")
_POD_LEVEL = (CPU, "memory", "hugepages-")
"""Resources that a pod may request as a whole, besides those of its containers."""

ResourceAmounts: TypeAlias = Mapping[str, int]
"""By resource, in the scheduler's units: thousandths of a CPU, whole numbers of everything else."""


class InvalidField(NamedTuple):
    """A value that the API server would reject."""

    path: KeyPath
    what: str


class Toleration(NamedTuple):
    """A toleration; unset fields are empty."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Requirement(NamedTuple):
    """One condition on a label or field of a node."""

    key: str
    operator: str
    values: tuple[str, ...]
    path: KeyPath = ()


class Term(NamedTuple):
    """Requirements that must all be satisfied; one matching term is enough."""

    expressions: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]
    path: KeyPath = ()


class NodeConstraints(NamedTuple):
    """Requirements that do not depend on what runs on the node."""

    node: str | None = None
    """The value of `nodeName`."""
    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[Term, ...] | None = None
    """None without required affinity; an empty tuple matches no node."""
    tolerations: tuple[Toleration, ...] = ()
    faults: tuple[InvalidField, ...] = ()


class Request(NamedTuple):
    """A requested amount, and the paths that request it."""

    resource: str
    amount: int
    paths: tuple[KeyPath, ...]


class Port(NamedTuple):
    """A host port."""

    address: str
    protocol: str
    number: int
    path: KeyPath = ()


class Needs(NamedTuple):
    """What a pod requires of a node."""

    constraints: NodeConstraints
    requests: tuple[Request, ...] = ()
    """Sorted by name, without zero amounts."""
    ports: tuple[Port, ...] = ()


def needs_of(pod: Node) -> Needs:
    """Read the requirements of a PodSpec, with the defaults of the API server."""
    faults: list[InvalidField] = []
    reader = _Reader(pod, faults.append)
    required = reader.mapping(_REQUIRED)
    name = reader.text(("nodeName",))
    selector = tuple(_selector(reader))
    terms = None if required is None else tuple(_terms(reader))
    tolerations = tuple(
        Toleration(*(reader.text((*path, field)) for field in Toleration._fields))
        for path in reader.paths(("tolerations",))
    )
    requests = tuple(_requests(reader))
    ports = tuple(_ports(reader))
    # A field that is read twice is reported twice.
    invalid = tuple(dict.fromkeys(faults))
    return Needs(NodeConstraints(name or None, selector, terms, tolerations, invalid), requests, ports)


class _Reader:
    """Typed access to a PodSpec; values of a wrong type are reported and read as unset."""

    def __init__(self, root: Node, report: Callable[[InvalidField], None]) -> None:
        self.root, self.report = root, report

    def _node_at(self, path: KeyPath) -> Node | None:
        node = self.root.at(path)
        if node is None and len(path) > 1:
            self._report_parent(path)
        return None if node is None or node.value is None else node

    def _report_parent(self, path: KeyPath) -> None:
        """Report a parent that cannot contain the path."""
        *above, step = path
        node = self.root.at(tuple(above))
        if node is None:
            self._node_at(tuple(above))
        elif node.value is not None and not isinstance(node.value, dict if isinstance(step, str) else tuple):
            self.report(InvalidField(tuple(above), f"expected a {'mapping' if isinstance(step, str) else 'list'}"))

    def mapping(self, path: KeyPath) -> Mapping[str, Node] | None:
        node = self._node_at(path)
        if node is not None and not isinstance(node.value, dict):
            self.report(InvalidField(path, "expected a mapping"))
            return None
        return None if node is None else node.fields

    def paths(self, path: KeyPath) -> Iterator[KeyPath]:
        """The path of each item of a list of mappings."""
        node = self._node_at(path)
        if node is not None and not isinstance(node.value, tuple):
            self.report(InvalidField(path, "expected a list"))
            return
        for index, item in enumerate(node.items if node else ()):
            if isinstance(item.value, dict):
                yield (*path, index)
            else:
                self.report(InvalidField((*path, index), "expected a mapping"))

    def text(self, path: KeyPath) -> str:
        node = self._node_at(path)
        if node is not None and not isinstance(node.value, str):
            self.report(InvalidField(path, "expected a string"))
            return ""
        return "" if node is None else str(node.value)

    def texts(self, path: KeyPath) -> Iterator[str]:
        node = self._node_at(path)
        if node is not None and not isinstance(node.value, tuple):
            self.report(InvalidField(path, "expected a list"))
            return
        for index, item in enumerate(node.items if node else ()):
            if isinstance(item.value, str):
                yield item.value
            else:
                self.report(InvalidField((*path, index), "expected a string"))

    def number(self, path: KeyPath) -> int:
        node = self._node_at(path)
        value = 0 if node is None else node.value
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.report(InvalidField(path, "expected a whole number"))
        return 0

    def is_true(self, path: KeyPath) -> bool:
        node = self._node_at(path)
        if node is not None and not isinstance(node.value, bool):
            self.report(InvalidField(path, "expected true or false"))
        return node is not None and node.value is True

    def amounts(self, path: KeyPath) -> dict[str, Request]:
        """Amounts by resource, in thousandths; the API server rounds up."""
        requests: dict[str, Request] = {}
        for name, node in (self.mapping(path) or {}).items():
            below = (*path, name)
            nano = _nano(node)
            if nano is None or nano < 0:
                self.report(InvalidField(below, "expected a quantity of zero or more"))
            else:
                requests[name] = Request(name, -(-nano // _MILLIS), (below,))
        return requests


def amount_of(node: Node, resource: str) -> int | None:
    """The quantity in the scheduler's units; None if it is not a quantity."""
    nano = _nano(node)
    return None if nano is None else _in_units(resource, -(-nano // _MILLIS))


def _nano(node: Node) -> int | None:
    value = node.value
    if not isinstance(value, str | int | float):
        return None
    try:
        return parse_quantity(value).nano
    except QuantityError:
        return None


def _in_units(resource: str, millis: int) -> int:
    return millis if resource == CPU else -(-millis // 1000)


# Constraints


def _selector(reader: _Reader) -> Iterator[tuple[str, str]]:
    for key, node in (reader.mapping(("nodeSelector",)) or {}).items():
        text = reader.text(("nodeSelector", key))
        # Null is read as an empty string; other types are skipped.
        if text or node.value in (None, ""):
            yield key, text


def _terms(reader: _Reader) -> Iterator[Term]:
    for path in reader.paths((*_REQUIRED, "nodeSelectorTerms")):
        expressions, fields = (
            tuple(_requirements(reader, (*path, key))) for key in ("matchExpressions", "matchFields")
        )
        yield Term(expressions, fields, path)


def _requirements(reader: _Reader, path: KeyPath) -> Iterator[Requirement]:
    for item_path in reader.paths(path):
        key, operator = reader.text((*item_path, "key")), reader.text((*item_path, "operator"))
        yield Requirement(key, operator, tuple(reader.texts((*item_path, "values"))), item_path)


# Resources and ports


def is_counted(resource: str) -> bool:
    """Whether the scheduler counts the resource."""
    return resource in _BASIC_RESOURCES or resource.startswith(_PREFIXES) or "/" in resource


def _requests(reader: _Reader) -> Iterator[Request]:
    total = _pod_requests(reader, _container_requests(reader))
    for name, request in sorted(_add(total, reader.amounts(("overhead",))).items()):
        amount = _in_units(name, request.amount)
        if amount and is_counted(name):
            yield Request(name, amount, tuple(dict.fromkeys(request.paths)))


def _container_requests(reader: _Reader) -> dict[str, Request]:
    """The sum over containers, or the maximum during initialization if that is larger."""
    total: dict[str, Request] = {}
    for path in reader.paths(("containers",)):
        total = _add(total, _requests_of(reader, path))
    sidecars: dict[str, Request] = {}
    peak: dict[str, Request] = {}
    for path in reader.paths(("initContainers",)):
        request = _add(_requests_of(reader, path), sidecars)
        if reader.text((*path, "restartPolicy")) == _ALWAYS:
            # A sidecar runs beside the containers, and beside the init containers after it.
            total, sidecars = _add(total, _requests_of(reader, path)), request
        peak = _maximum(peak, request)
    return _maximum(total, peak)


def _pod_requests(reader: _Reader, total: Mapping[str, Request]) -> dict[str, Request]:
    """Apply requests of the pod, and its limits for resources that no container requests."""
    requests, limits = reader.amounts(("resources", "requests")), reader.amounts(("resources", "limits"))
    for name, request in requests.items():
        if name.startswith(_POD_LEVEL) and name in total and request.amount < total[name].amount:
            reader.report(InvalidField(request.paths[0], "expected at least what the containers request together"))
    amounts = {
        **limits,
        **{name: request for name, request in total.items() if not name.startswith("hugepages-")},
        **requests,
    }
    return {**total, **{name: amounts[name] for name in chain(limits, requests) if name.startswith(_POD_LEVEL)}}


def _requests_of(reader: _Reader, path: KeyPath) -> dict[str, Request]:
    """The requests of a container; a limit without a request counts as the request."""
    limits, requests = (reader.amounts((*path, "resources", side)) for side in ("limits", "requests"))
    return {**limits, **requests}


def _add(one: Mapping[str, Request], two: Mapping[str, Request]) -> dict[str, Request]:
    both = {
        name: Request(name, one[name].amount + two[name].amount, one[name].paths + two[name].paths)
        for name in one.keys() & two.keys()
    }
    return {**one, **two, **both}


def _maximum(one: Mapping[str, Request], two: Mapping[str, Request]) -> dict[str, Request]:
    more = {name: request for name, request in two.items() if name not in one or request.amount > one[name].amount}
    return {**one, **more}


def _ports(reader: _Reader) -> Iterator[Port]:
    """The host ports of containers and sidecars."""
    on_host = reader.is_true(("hostNetwork",))
    running = (path for path in reader.paths(("initContainers",)) if _is_sidecar(reader, path))
    for container in (*running, *reader.paths(("containers",))):
        for path in reader.paths((*container, "ports")):
            number = reader.number((*path, "hostPort")) or (on_host and reader.number((*path, "containerPort")))
            if number > 0:
                address, protocol = reader.text((*path, "hostIP")), reader.text((*path, "protocol"))
                yield Port(address or ANY_ADDRESS, protocol or TCP, int(number), path)


def _is_sidecar(reader: _Reader, path: KeyPath) -> bool:
    return reader.text((*path, "restartPolicy")) == _ALWAYS


# Amounts as text

_UNITS = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_BYTES = ("memory", "ephemeral-storage", "hugepages-")
_TENTHS = 10
"""The smallest fraction of a unit that is printed: a tenth."""


def amount_text(resource: str, amount: int, *, up: bool = False) -> str:
    """An amount as text, such as `14.5`, `500m` or `31.3Gi`, rounded down, or up if `up`."""
    if resource == CPU:
        total, rest = divmod(amount, 1000)
        # 500m, 2, 14.39
        return f"{amount}m" if not total and rest else f"{total}.{rest:03}".rstrip("0").rstrip(".")
    if not resource.startswith(_BYTES):
        return quote(amount)[1:-1]
    name, size = next((unit for unit in _UNITS if amount >= unit[1]), ("", 1))
    tenths = -(-amount * _TENTHS // size) if up else amount * _TENTHS // size
    total, rest = divmod(tenths, _TENTHS)
    return f"{total}.{rest}{name}" if rest else f"{total}{name}"
