"""Requirements of a PodSpec on nodes, as plain data with paths.

Two pods that ask the same give equal values, whoever wrote them, so that what is true of one is true of the other; the
path leads back to the node of either, and so to its origin. Nothing raises: what the API would refuse is a `Fault`.
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
_PLAIN = frozenset({CPU, "memory", "ephemeral-storage"})
_PREFIXES = ("hugepages-", "attachable-volumes-")
_OF_PODS = (CPU, "memory", "hugepages-")
"""What a pod may ask for as a whole, beside what its containers ask for."""

ResourceAmounts: TypeAlias = Mapping[str, int]
"""By resource, in the units that the scheduler counts in: thousandths of a CPU, and whole ones of everything else."""


class InvalidField(NamedTuple):
    """What no API server would take."""

    path: KeyPath
    what: str


class Toleration(NamedTuple):
    """A toleration; what it does not say is empty."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Requirement(NamedTuple):
    """One condition on a label, or on a field, of a node."""

    key: str
    operator: str
    values: tuple[str, ...]
    path: KeyPath = ()


class Term(NamedTuple):
    """Conditions that hold together; terms are alternatives."""

    expressions: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]
    path: KeyPath = ()


class NodeConstraints(NamedTuple):
    """All that hangs on what a node is, and not on what runs there."""

    node: str | None = None
    """The one node it wants."""
    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[Term, ...] | None = None
    """None where no affinity is required; of no terms, none matches."""
    tolerations: tuple[Toleration, ...] = ()
    faults: tuple[InvalidField, ...] = ()


class Request(NamedTuple):
    """How much of a resource is asked for, and where."""

    resource: str
    amount: int
    paths: tuple[KeyPath, ...]


class Port(NamedTuple):
    """A port of the node itself."""

    address: str
    protocol: str
    number: int
    path: KeyPath = ()


class Needs(NamedTuple):
    """What a pod asks of a node."""

    constraints: NodeConstraints
    requests: tuple[Request, ...] = ()
    """In the order of their names; nothing that is asked for none of."""
    ports: tuple[Port, ...] = ()


def needs_of(pod: Node) -> Needs:
    """What the pod asks of a node, with what the API server fills in."""
    faults: list[InvalidField] = []
    reader = _Reader(pod, faults.append)
    required = reader.mapping(_REQUIRED)
    name = reader.text(("nodeName",))
    selector = tuple(_selector(reader))
    terms = None if required is None else tuple(_terms(reader))
    tolerations = tuple(_tolerations(reader))
    requests = tuple(_requests(reader))
    ports = tuple(_ports(reader))
    # What is read twice is told twice.
    told = tuple(dict.fromkeys(faults))
    return Needs(NodeConstraints(name or None, selector, terms, tolerations, told), requests, ports)


class _Reader:
    """A tree that is asked for values of a type; of any other, it tells, and gives what stands for nothing."""

    def __init__(self, root: Node, tell: Callable[[InvalidField], None]) -> None:
        self.root, self.tell = root, tell

    def _found(self, path: KeyPath) -> Node | None:
        node = self.root.at(path)
        if node is None and len(path) > 1:
            self._tell_above(path)
        return None if node is None or node.value is None else node

    def _tell_above(self, path: KeyPath) -> None:
        """Tells what there is above the path that can hold no such thing."""
        *above, step = path
        node = self.root.at(tuple(above))
        if node is None:
            self._found(tuple(above))
        elif node.value is not None and not isinstance(node.value, dict if isinstance(step, str) else tuple):
            self.tell(InvalidField(tuple(above), f"expected a {'mapping' if isinstance(step, str) else 'list'}"))

    def mapping(self, path: KeyPath) -> Mapping[str, Node] | None:
        node = self._found(path)
        if node is not None and not isinstance(node.value, dict):
            self.tell(InvalidField(path, "expected a mapping"))
            return None
        return None if node is None else node.fields

    def paths(self, path: KeyPath) -> Iterator[KeyPath]:
        """The path of each item of a list of mappings."""
        node = self._found(path)
        if node is not None and not isinstance(node.value, tuple):
            self.tell(InvalidField(path, "expected a list"))
            return
        for index, item in enumerate(node.items if node else ()):
            if isinstance(item.value, dict):
                yield (*path, index)
            else:
                self.tell(InvalidField((*path, index), "expected a mapping"))

    def text(self, path: KeyPath) -> str:
        node = self._found(path)
        if node is not None and not isinstance(node.value, str):
            self.tell(InvalidField(path, "expected a string"))
            return ""
        return "" if node is None else str(node.value)

    def texts(self, path: KeyPath) -> Iterator[str]:
        node = self._found(path)
        if node is not None and not isinstance(node.value, tuple):
            self.tell(InvalidField(path, "expected a list"))
            return
        for index, item in enumerate(node.items if node else ()):
            if isinstance(item.value, str):
                yield item.value
            else:
                self.tell(InvalidField((*path, index), "expected a string"))

    def number(self, path: KeyPath) -> int:
        node = self._found(path)
        value = 0 if node is None else node.value
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.tell(InvalidField(path, "expected a whole number"))
        return 0

    def is_true(self, path: KeyPath) -> bool:
        node = self._found(path)
        if node is not None and not isinstance(node.value, bool):
            self.tell(InvalidField(path, "expected true or false"))
        return node is not None and node.value is True

    def amounts(self, path: KeyPath) -> dict[str, Request]:
        """What stands at the path by resource, in thousandths, to which the API server rounds up."""
        told: dict[str, Request] = {}
        for name, node in (self.mapping(path) or {}).items():
            at = (*path, name)
            nano = _nano(node)
            if nano is None or nano < 0:
                self.tell(InvalidField(at, "expected a quantity of zero or more"))
            else:
                told[name] = Request(name, -(-nano // _MILLIS), (at,))
        return told


def amount_of(node: Node, resource: str) -> int | None:
    """The quantity in the units that the scheduler counts the resource in; None for what is no quantity."""
    nano = _nano(node)
    return None if nano is None else _counted(resource, -(-nano // _MILLIS))


def _nano(node: Node) -> int | None:
    value = node.value
    if not isinstance(value, str | int | float):
        return None
    try:
        return parse_quantity(value).nano
    except QuantityError:
        return None


def _counted(resource: str, millis: int) -> int:
    return millis if resource == CPU else -(-millis // 1000)


# Where a node must be


def _selector(reader: _Reader) -> Iterator[tuple[str, str]]:
    for key, node in (reader.mapping(("nodeSelector",)) or {}).items():
        text = reader.text(("nodeSelector", key))
        # A null stands for the empty text, and what is no text, for nothing.
        if text or node.value in (None, ""):
            yield key, text


def _terms(reader: _Reader) -> Iterator[Term]:
    for path in reader.paths((*_REQUIRED, "nodeSelectorTerms")):
        expressions, fields = (
            tuple(_requirements(reader, (*path, key))) for key in ("matchExpressions", "matchFields")
        )
        yield Term(expressions, fields, path)


def _requirements(reader: _Reader, path: KeyPath) -> Iterator[Requirement]:
    for at in reader.paths(path):
        key, operator = reader.text((*at, "key")), reader.text((*at, "operator"))
        yield Requirement(key, operator, tuple(reader.texts((*at, "values"))), at)


def _tolerations(reader: _Reader) -> Iterator[Toleration]:
    for path in reader.paths(("tolerations",)):
        yield Toleration(*(reader.text((*path, field)) for field in Toleration._fields))


# What a node must have


def is_counted(resource: str) -> bool:
    """Whether the scheduler counts the resource at all."""
    return resource in _PLAIN or resource.startswith(_PREFIXES) or "/" in resource


def _requests(reader: _Reader) -> Iterator[Request]:
    whole = _of_pod(reader, _of_containers(reader))
    for name, request in sorted(_plus(whole, reader.amounts(("overhead",))).items()):
        amount = _counted(name, request.amount)
        if amount and is_counted(name):
            yield Request(name, amount, tuple(dict.fromkeys(request.paths)))


def _of_containers(reader: _Reader) -> dict[str, Request]:
    """What containers ask for side by side, or what is asked for while one initialises, if that is more."""
    total: dict[str, Request] = {}
    for path in reader.paths(("containers",)):
        total = _plus(total, _asked(reader, path))
    beside: dict[str, Request] = {}
    most: dict[str, Request] = {}
    for path in reader.paths(("initContainers",)):
        asked = _plus(_asked(reader, path), beside)
        if reader.text((*path, "restartPolicy")) == _ALWAYS:
            # One that goes on running counts beside the containers, and beside those that initialise after it.
            total, beside = _plus(total, _asked(reader, path)), asked
        most = _most(most, asked)
    return _most(total, most)


def _of_pod(reader: _Reader, total: Mapping[str, Request]) -> dict[str, Request]:
    """What is asked for as a whole holds, and what is only limited as a whole where no container asks for any."""
    requests, limits = reader.amounts(("resources", "requests")), reader.amounts(("resources", "limits"))
    for name, asked in requests.items():
        if name.startswith(_OF_PODS) and name in total and asked.amount < total[name].amount:
            reader.tell(InvalidField(asked.paths[0], "expected at least what the containers request together"))
    told = {**limits, **{name: asked for name, asked in total.items() if not name.startswith("hugepages-")}, **requests}
    return {**total, **{name: told[name] for name in chain(limits, requests) if name.startswith(_OF_PODS)}}


def _asked(reader: _Reader, path: KeyPath) -> dict[str, Request]:
    """What a container requests; of what it only limits, as much as the limit."""
    limits, requests = (reader.amounts((*path, "resources", side)) for side in ("limits", "requests"))
    return {**limits, **requests}


def _plus(one: Mapping[str, Request], two: Mapping[str, Request]) -> dict[str, Request]:
    both = {
        name: Request(name, one[name].amount + two[name].amount, one[name].paths + two[name].paths)
        for name in one.keys() & two.keys()
    }
    return {**one, **two, **both}


def _most(one: Mapping[str, Request], two: Mapping[str, Request]) -> dict[str, Request]:
    more = {name: asked for name, asked in two.items() if name not in one or asked.amount > one[name].amount}
    return {**one, **more}


def _ports(reader: _Reader) -> Iterator[Port]:
    """The ports of the node that containers want while they run."""
    on_host = reader.is_true(("hostNetwork",))
    running = (path for path in reader.paths(("initContainers",)) if _goes_on(reader, path))
    for container in (*running, *reader.paths(("containers",))):
        for path in reader.paths((*container, "ports")):
            number = reader.number((*path, "hostPort")) or (on_host and reader.number((*path, "containerPort")))
            if number > 0:
                address, protocol = reader.text((*path, "hostIP")), reader.text((*path, "protocol"))
                yield Port(address or ANY_ADDRESS, protocol or TCP, int(number), path)


def _goes_on(reader: _Reader, path: KeyPath) -> bool:
    return reader.text((*path, "restartPolicy")) == _ALWAYS


# How amounts read

_UNITS = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_BYTES = ("memory", "ephemeral-storage", "hugepages-")
_ROUGH = 10
"""Parts of a unit that are still told."""


def amount_text(resource: str, amount: int, *, up: bool = False) -> str:
    """The amount as people write it: `14.5`, `500m`, `31.3Gi`; what is told roughly is told too small, or too large."""
    if resource == CPU:
        whole, rest = divmod(amount, 1000)
        # 500m, 2, 14.39
        return f"{amount}m" if not whole and rest else f"{whole}.{rest:03}".rstrip("0").rstrip(".")
    if not resource.startswith(_BYTES):
        return quote(amount)[1:-1]
    name, size = next((unit for unit in _UNITS if amount >= unit[1]), ("", 1))
    tenths = -(-amount * _ROUGH // size) if up else amount * _ROUGH // size
    whole, rest = divmod(tenths, _ROUGH)
    return f"{whole}.{rest}{name}" if rest else f"{whole}{name}"
