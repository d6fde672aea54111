"""Takes nothing, gives the nouns that travel along the line: frozen values that only know how to read themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from speccompile.records import NamedTuple

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    class Changes(TypedDict, total=False):
        """What can be said anew of a node."""

        value: Value
        span: Span
        key: Span | None
        lost: tuple[Node, ...]
        derived: str | None
        made_of: tuple[Node, ...]
        part: Part
        unsure: bool
        weak: bool


Scalar: TypeAlias = str | int | float | bool | None
Json: TypeAlias = Scalar | Sequence["Json"] | Mapping[str, "Json"]
KeyPath: TypeAlias = tuple[str | int, ...]
Value: TypeAlias = "Scalar | tuple[Node, ...] | dict[str, Node]"
_CONTAINERS = (tuple, dict)

_PLAIN_STEP = r"[A-Za-z_][A-Za-z0-9_-]*"
_STEP = rf'\.?({_PLAIN_STEP})|\[([0-9]+)\]|\["((?:[^"\\]|\\.)*)"\]'


class Layer(StrEnum):
    """Who speaks: the four kinds of text a value can come from."""

    RUN = "run"
    PROFILE = "profile"
    PLATFORM = "platform"
    TEMPLATE = "template"


class Part(StrEnum):
    """What a value is to the layer it comes from, which tells who can still say otherwise."""

    FIELD = "field"
    """Said outright: by the run, fixed by a profile, enforced by the platform, or a literal of a template."""
    DEFAULT = "default"
    SETTING = "setting"
    BASE = "base"
    """Of a base document."""


class Source(NamedTuple):
    """A text with the name people know it by, and the layer it speaks for."""

    name: str
    text: str
    layer: Layer

    def __repr__(self) -> str:
        return f"<{self.layer} {self.name}>"


class Span(NamedTuple):
    """A stretch of a source; lines and columns count from 1, and line 0 means a value that was never text."""

    source: Source
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    @property
    def label(self) -> str:
        """`file:line:column`, or the source's name alone for a value that was never text."""
        return f"{self.source.name}:{self.line}:{self.column}" if self.line else self.source.name

    @property
    def last_line(self) -> int:
        """The last line it has part in; one that ends before the first character of a line ends with the one above."""
        return self.end_line - (self.end_column <= 1) if self.end_line > self.line else self.line


class Node:
    """A value and where it stands; children are nodes too, so restructuring a tree never loses an origin.

    Nothing of a node changes once it is made, which the type checker sees to: a run comes to hundreds of nodes, and
    a class that guards itself takes six times as long to make one.
    """

    __slots__ = ("derived", "key", "lost", "made_of", "part", "span", "unsure", "value", "weak")

    def __init__(  # noqa: PLR0913, PLR0917  the noun that all stages speak of
        self,
        value: Value,
        span: Span,
        key: Span | None = None,
        lost: tuple[Node, ...] = (),
        derived: str | None = None,
        made_of: tuple[Node, ...] = (),
        part: Part = Part.FIELD,
        unsure: bool = False,
        weak: bool = False,
    ) -> None:
        self.value: Final = value
        self.span: Final = span
        self.key: Final = key
        """Where the key stands that introduces this value."""
        self.lost: Final = lost
        """What weaker layers said in this place, strongest first."""
        self.derived: Final = derived
        """How the value was made, if it does not stand in the source as it is."""
        self.made_of: Final = made_of
        """What it was made of, beside what stands in its span."""
        self.part: Final = part
        self.unsure: Final = unsure
        """A plain `1e3`: a number to YAML 1.2 and a string to YAML 1.1, fine as a quantity only."""
        self.weak: Final = weak
        """Stands where nobody says otherwise: a value of a base document is stronger."""

    def but(self, **changes: Unpack[Changes]) -> Node:
        """The same node except for what is said anew."""
        node = Node(
            self.value,
            self.span,
            self.key,
            self.lost,
            self.derived,
            self.made_of,
            self.part,
            self.unsure,
            self.weak,
        )
        for name, value in changes.items():
            setattr(node, name, value)
        return node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.span, self.key))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.span.label}>"

    @property
    def place(self) -> Span:
        """The smallest span that shows this value to its author: the scalar itself, else its key."""
        return self.key if self.key is not None and not self.is_scalar else self.span

    @property
    def is_scalar(self) -> bool:
        return not isinstance(self.value, _CONTAINERS)

    @property
    def fields(self) -> Mapping[str, Node]:
        """The children of a mapping; empty for anything else."""
        value = self.value
        return value if value.__class__ is dict else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """The items of a list; empty for anything else."""
        value = self.value
        return value if isinstance(value, tuple) else ()

    def plain(self) -> Any:
        """The value as ordinary JSON data, in containers of its own."""
        value = self.value
        if isinstance(value, tuple):
            return [item.plain() for item in value]
        if isinstance(value, dict):
            return {key: child.plain() for key, child in value.items()}
        return value

    def is_like(self, other: Node) -> bool:
        """Whether both say the same, wherever they stand; to Python true is 1, and 1 is 1.0, but not to readers."""
        if self.is_scalar or other.is_scalar:
            return type(self.value) is type(other.value) and self.value == other.value
        mine, theirs = self.fields, other.fields
        return (
            isinstance(self.value, tuple) == isinstance(other.value, tuple)
            and len(self.items) == len(other.items)
            and mine.keys() == theirs.keys()
            and all(one.is_like(two) for one, two in zip(self.items, other.items, strict=True))
            and all(child.is_like(theirs[key]) for key, child in mine.items())
        )

    def at(self, path: KeyPath) -> Node | None:
        """The node at the path below this one, or None where there is none."""
        node: Node | None = self
        for step in path:
            if node is None:
                return None
            value = node.value
            if isinstance(step, str):
                node = value.get(step) if isinstance(value, dict) else None
            else:
                items = value if isinstance(value, tuple) else ()
                node = items[step] if -len(items) <= step < len(items) else None
        return node

    def walk(self, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Node]]:
        """Every node of the tree with its path, parents first."""
        yield path, self
        for key, child in self.fields.items():
            yield from child.walk((*path, key))
        for index, child in enumerate(self.items):
            yield from child.walk((*path, index))

    def mapped(self, change: Callable[[Node], Node]) -> Node:
        """The same container with every direct child changed; a scalar comes back as it is."""
        value = self.value
        if isinstance(value, tuple):
            return self.with_value(tuple([change(item) for item in value]))
        if isinstance(value, dict):
            return self.with_value({key: change(child) for key, child in value.items()})
        return self

    def with_fields(self, fields: dict[str, Node]) -> Node:
        return self.with_value(fields)

    def with_value(self, value: Value) -> Node:
        return Node(
            value, self.span, self.key, self.lost, self.derived, self.made_of, self.part, self.unsure, self.weak
        )

    def over(self, *lost: Node) -> Node:
        """The value with what lost to it behind what had lost to it before, each once."""
        if not lost:
            return self
        known = {id(node) for node in self.lost}
        return self.but(lost=(*self.lost, *(node for node in lost if id(node) not in known)))

    def beating(self, weaker: Node) -> Node:
        """The value with a weaker one, and all that had lost to that, among what lost to it; equal ones did not."""
        return self.over(*(node for node in (weaker, *weaker.lost) if not node.is_like(self)))

    def marked(self, part: Part, *, weak: bool = False) -> Node:
        """The tree, every node of it as this part of its layer."""
        return self.but(part=part, weak=weak).mapped(lambda child: child.marked(part, weak=weak))


BUILT_IN = Span(Source("built-in platform", "", Layer.PLATFORM))
"""The place of values that nobody wrote and the compiler brings along."""


def over_setting(said: Node, setting: Node | None) -> Node:
    """What somebody said, with the platform's setting that gives way to it; the built-in ones were said by nobody."""
    return said if setting is None or setting.span.source is BUILT_IN.source else said.beating(setting)


class Origin(NamedTuple):
    """Who set a value, where, and, if it is not the written value itself, how it was derived."""

    layer: Layer
    span: Span
    derived: str | None = None
    part: Part = Part.FIELD
    made_of: tuple[Origin, ...] = ()
    """Where else the things stand that it was derived from."""

    def __str__(self) -> str:
        how = f" ({self.derived})" if self.derived else ""
        return f"{self.who} {self.span.label}{how}"

    @property
    def who(self) -> str:
        """The layer, and the part of it unless that is what the layer says outright: `profile default`."""
        return str(self.layer) if self.part is Part.FIELD else f"{self.layer} {self.part}"


def origin_of(node: Node) -> Origin:
    made_of = {inner.span: origin_of(inner) for inner in node.made_of if inner.span != node.span}
    return Origin(node.span.source.layer, node.span, node.derived, node.part, tuple(made_of.values()))


class Change(StrEnum):
    """What became of something that a run said."""

    REPLACED = "replaced"
    EXTENDED = "extended"
    """It holds, together with what a stronger layer adds to it."""


class Override(NamedTuple):
    """A value of a run that a profile or the platform replaced, or added to."""

    path: KeyPath
    lost: Node
    """What the run said."""
    won: Node
    """What the stronger layer said."""
    change: Change = Change.REPLACED


class Document(NamedTuple):
    """One document of a source, as it was written."""

    source: Source
    root: Node


class Run(NamedTuple):
    """A run in canonical spelling and shape, whatever form it was written in."""

    source: Source
    name: Node
    project: Node
    action: Node
    profile: Node | None
    facts: Mapping[str, Node]
    """What else its form tells of it: `id`, `user`, `function`, `runtime`, for names and labels; its `namespace`."""
    fields: Node


class Rule(NamedTuple):
    """A constraint of the admin's on one field of the merged spec."""

    path: KeyPath
    constraint: Node
    counts: bool
    """Whether the field is a number or a quantity, so that `1Gi` is `1024Mi`."""


class Ban(NamedTuple):
    """A field that a run may not say."""

    path: KeyPath
    written: Node


class Profile(NamedTuple):
    """A profile in canonical spelling and shape, with all that its parents bring."""

    source: Source
    id: Node
    about: Mapping[str, Node]
    """Its `name` and `description`, for people."""
    parents: tuple[Node, ...]
    target: Node | None
    """The name of the family of templates; None for the usual one."""
    gpu_key: Node | None
    fields: Node
    defaults: Node
    rules: tuple[Rule, ...]
    bans: tuple[Ban, ...]
    bases: Mapping[str, Node]
    """Base documents by kind."""


class Platform(NamedTuple):
    """The platform: its settings complete (what its file does not say has the built-in value), and what it demands."""

    settings: Node
    defaults: Node
    enforced: Node
    rules: tuple[Rule, ...] = ()
    bans: tuple[Ban, ...] = ()


class Workload(NamedTuple):
    """What a run can come to under a target."""

    called: str
    actions: frozenset[str]
    name: str
    """Which of the platform's names it has."""
    longest: int | None
    """The characters that its name may have; None for as many as any."""
    letter: bool
    """Whether its name begins with a letter."""
    needs: tuple[KeyPath, ...]
    """Fields that somebody must say."""
    holds: Callable[[Merged], bool]


class Making(NamedTuple):
    """A kind of manifest that a target makes: its template, and the items to make one from each."""

    kind: str
    template: str
    workloads: frozenset[str] | None
    """Those it belongs to; None for all."""
    holds: Callable[[Merged], bool]
    items: Callable[[Merged], Iterable[Node | None]]
    """A manifest that is made once has the one item None."""


class Refusal(NamedTuple):
    """What cannot be under a target."""

    workloads: frozenset[str] | None
    found: Callable[[Merged], Iterator[tuple[Node, Node | None]]]
    """Where a spec is so, and what else has part in it."""
    message: str
    help: str
    written: Span | None
    """Where an admin says so."""


class Target(NamedTuple):
    """A family of templates, and what is to be known of it."""

    name: str
    fields: frozenset[str] | None
    """Those of the fields of all targets that it uses; None for all."""
    container: tuple[KeyPath, ...]
    """Fields that name the main container."""
    workloads: tuple[Workload, ...]
    makings: tuple[Making, ...]
    """In the order of output."""
    refusals: tuple[Refusal, ...]
    pods: Mapping[str, KeyPath]
    """Where each kind of object has its pod."""
    bases: Mapping[str, str]
    """The kinds that base documents can be of, with their API versions."""


class Merged(NamedTuple):
    """The spec of one run after all layers have spoken; losers hang on the nodes that won."""

    run: Run
    profile: Profile | None
    platform: Platform
    target: Target
    spec: Node
    replaced: tuple[Override, ...] = ()
    """What any layer said and a stronger one replaced."""
    overrides: tuple[Override, ...] = ()
    """What became of the run's own words: replaced, or added to."""


class Approved(NamedTuple):
    """A spec that satisfies every policy, with the resources derived that nobody had to write."""

    merged: Merged


class Step(NamedTuple):
    """One manifest to be made: from which template, with which values beside the spec."""

    template: str
    item: Node | None = None


class Plan(NamedTuple):
    """What templates see, by top-level name, and the manifests to be made, in order."""

    context: Mapping[str, Node]
    steps: tuple[Step, ...]


class Manifest:
    """One Kubernetes object; every leaf of the tree carries its origin."""

    __slots__ = ("tree",)

    def __init__(self, tree: Node) -> None:
        self.tree: Final = tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifest) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(self.tree)

    def __repr__(self) -> str:
        return f"<Manifest {self.kind} {self.name}>"

    @property
    def kind(self) -> str:
        return str(self.tree.fields["kind"].value)

    @property
    def name(self) -> str:
        return str(self.tree.fields["metadata"].fields["name"].value)

    @property
    def data(self) -> dict[str, Any]:
        """The object as ordinary JSON data; a fresh copy each time."""
        data: dict[str, Any] = self.tree.plain()
        return data


def format_path(path: KeyPath) -> str:
    """The path as people write it: `resources.limits["nvidia.com/gpu"]`, `args[2]`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif re.fullmatch(_PLAIN_STEP, step):
            parts.append(f".{step}" if parts else step)
        else:
            escaped = step.replace("\\", "\\\\").replace('"', '\\"')
            parts.append(f'["{escaped}"]')
    return "".join(parts)


def parse_path(text: str) -> KeyPath:
    """The inverse of `format_path`; raises ValueError at text that is no path."""
    path: list[str | int] = []
    steps = re.compile(_STEP)
    position = 0
    while position < len(text):
        match = steps.match(text, position)
        if match is None:
            raise ValueError(f"no path: {text!r}")
        name, index, quoted = match.groups()
        path.append(int(index) if index else name or re.sub(r"\\(.)", r"\1", quoted))
        position = match.end()
    return tuple(path)
