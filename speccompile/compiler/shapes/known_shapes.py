"""Compile each shape once: the shapes of the runs so far, and the pages of those that appeared again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias, TypeVar

from speccompile.compiler.choose_manifests import target_of
from speccompile.compiler.compiled import Compiled, CompiledTrees, Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.profiles import choose
from speccompile.compiler.documents.targets import DEFAULT_TARGET
from speccompile.compiler.pipeline import compile_document
from speccompile.compiler.policy import DEFAULT_PROFILE
from speccompile.compiler.reserved_names import has_reserved_name
from speccompile.compiler.shapes.page import MOST_SCALARS, NotUniformError, ShapedRun, ShapePage, has_marker, marker
from speccompile.compiler.shapes.split_text import GAP, SplitText, positions, scalar_value, split_text
from speccompile.compiler.shapes.varying import (
    AdminReading,
    Read,
    Value,
    Varying,
    VaryingValue,
    reading_of,
    varying_values,
)
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.key_spelling import spelled
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Source
from speccompile.schema.validate import validate
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

_DECIDING = ("profile", "action")
"""The fields that decide what an admin's configuration reads."""
_MOST_SHAPES = 512
"""Structures, and shapes, that are remembered; those that were not used for longest are forgotten first."""
_Output: TypeAlias = tuple[object, tuple[Diagnostic, ...], str]
"""What identifies a compilation, its findings, and its manifests."""
KeyT = TypeVar("KeyT", bound=Hashable)
ItemT = TypeVar("ItemT")


class _Example(NamedTuple):
    """A run that was compiled as usual; the page of its shape must produce the same."""

    source: Source
    scalars: tuple[str, ...]
    output: _Output


class _Holes(NamedTuple):
    """The scalars of a structure that may vary with one profile and action."""

    varying: tuple[Varying | None, ...]
    """By the number of the scalar; None for scalars that do not vary."""
    readers: tuple[tuple[int, Read], ...]
    """The numbers of those that vary, and how they are read."""
    profile: str
    prefix: str
    """Distinguishes the shapes of this structure, profile and action from others."""
    others: frozenset[object]
    """Values that are parts of the structure."""
    in_flow: bool
    """Whether a scalar may be in a flow collection, where a comma ends it."""


class _Structure:
    """What is known about texts of one structure."""

    def __init__(self, first: _Example) -> None:
        self.first: Final = first
        self.deciding: tuple[int, ...] = ()
        """The numbers of the scalars that decide what may vary: profile and action."""
        self.holes: dict[tuple[str, ...], _Holes | None] = {}
        """By these scalars; None if nothing may vary. Empty until the structure appears again."""

    def decided_by(self, scalars: Sequence[str]) -> tuple[str, ...]:
        return tuple([scalars[number] for number in self.deciding])


_Shape: TypeAlias = "_Example | ShapePage | None"
"""An example of a shape that was seen once, its page, or None if its runs are compiled one by one."""


class KnownShapes:
    """The shapes of the runs of one call."""

    def __init__(self, setting: Setting, compile_usually: Callable[[Source], list[Result]]) -> None:
        self._setting: Final = setting
        self._compile_usually: Final = compile_usually
        self._structures: Final[dict[str, _Structure]] = {}
        self._shapes: Final[dict[str, _Shape]] = {}
        self._readings: Final[dict[tuple[str, str], AdminReading]] = {}
        """By profile and action."""
        self._count = 0
        self._last_parsed: tuple[Source, Parsed] | None = None
        self._last_marked: tuple[Source, Compiled] | None = None
        self._applies: Final = not setting.is_broken and not setting.library.has_custom_templates

    def compile(self, source: Source) -> list[Result]:
        """The results of a text: those of its page if its shape is known, else as usual."""
        split = self._split(source)
        if split is None:
            return self._compile_usually(source)
        structure = _used(self._structures, split.structure)
        if structure is None:
            return self._compile_first(source, split, lambda example: self._add_structure(split, example))
        if not structure.holes:
            # Now that the structure appears again, it is worth a closer look.
            self._add_holes(structure, split, source)
            self._add_example(structure, structure.first)
        name = structure.decided_by(split.scalars)
        if name not in structure.holes:

            def remember(example: _Example) -> None:
                self._add_holes(structure, split, source)
                self._add_example(structure, example)

            return self._compile_first(source, split, remember)
        holes = structure.holes[name]
        if holes is None:
            return self._compile_usually(source)
        key, values = _key(split.scalars, holes)
        if key not in self._shapes:
            return self._compile_first(source, split, lambda example: _remember(self._shapes, key, example))
        shape = _used(self._shapes, key)
        if isinstance(shape, _Example):
            shape = self._shapes[key] = self._page(shape, source, split, holes)
        run = ShapedRun(source, split.scalars, values)
        compiled = shape.fill(run, lambda: self._whole(source)) if shape else None
        if compiled is None or any(has_reserved_name(one, self._setting.platform) for one in compiled.objects):
            return self._compile_usually(source)
        # A cache records which profiles a run depends on.
        self._setting.profiles.get(holes.profile)
        return [compiled]

    def _split(self, source: Source) -> SplitText | None:
        # JSON has findings of its own.
        return None if not self._applies or source.name.endswith(".json") else split_text(source.text)

    def _compile_first(self, source: Source, split: SplitText, remember: Callable[[_Example], None]) -> list[Result]:
        """Compile a run as usual, and remember it if it is valid and alone in its text."""
        results = self._compile_usually(source)
        match results:
            case [Compiled() as compiled]:
                remember(_Example(source, split.scalars, _output(compiled)))
        return results

    def _whole(self, source: Source) -> CompiledTrees:
        return compile_document(parse(source).documents[0], self._setting).whole

    def _add_structure(self, split: SplitText, example: _Example) -> None:
        _remember(self._structures, split.structure, _Structure(example))

    def _add_example(self, structure: _Structure, example: _Example) -> None:
        """Remember a run of a shape, if it is known what may vary in it."""
        holes = structure.holes.get(structure.decided_by(example.scalars))
        if holes is not None:
            _remember(self._shapes, _key(example.scalars, holes)[0], example)

    def _parsed(self, source: Source) -> Parsed:
        """The tree of a run; the last one is kept, because it is needed twice."""
        if self._last_parsed is None or self._last_parsed[0] is not source:
            self._last_parsed = source, parse(source)
        return self._last_parsed[1]

    def _add_holes(self, structure: _Structure, split: SplitText, source: Source) -> None:
        """Find out what may vary in a structure, with the profile and action of this run, unless it has errors."""
        parsed = self._parsed(source)
        if has_errors(parsed.findings):
            return
        root = parsed.documents[0].root
        if {"kind", "apiVersion"} & root.fields.keys():
            # Runs of other forms, which all runs of the structure are.
            structure.holes[()] = None
            return
        tree, findings = validate(root, "run", self._setting.library)
        if has_errors(findings):
            return
        numbers = _numbers_of(tree, split)
        fields = self._setting.library.resolve(self._setting.library.schemas["run"])["properties"]
        written = {spelled(key, fields) for key in root.fields}
        deciding = [tree.fields.get(name) for name in _DECIDING if name in written]
        # Anything but text, such as null, is not recognized in other texts.
        is_clear = all(node is not None and id(node) in numbers and node.value for node in deciding)
        if is_clear and not structure.holes:
            structure.deciding = tuple(numbers[id(node)] for node in deciding)
        holes = self._find_holes(tree, numbers, split) if is_clear and not findings else None
        structure.holes[structure.decided_by(split.scalars)] = holes

    def _find_holes(self, tree: Node, numbers: Mapping[int, int], split: SplitText) -> _Holes | None:
        setting = self._setting
        wanted = tree.fields.get("profile")
        profile, _ = choose(wanted, setting.profiles)
        target = target_of(profile, setting.library)
        if target.name != DEFAULT_TARGET or (profile and profile.bases) or len(split.scalars) > MOST_SCALARS:
            return None
        action = str(tree.fields["action"].value)
        name = str(wanted.value) if wanted else DEFAULT_PROFILE
        if (name, action) not in self._readings:
            self._readings[name, action] = reading_of(profile, setting.platform, target, action, setting.library)
        varying: list[Varying | None] = [None] * len(split.scalars)
        for node, one in varying_values(tree, self._readings[name, action], setting.library):
            if id(node) in numbers:
                varying[numbers[id(node)]] = one
        self._count += 1
        return _Holes(
            tuple(varying),
            tuple((number, one.read) for number, one in enumerate(varying) if one),
            name,
            f"{self._count}",
            frozenset(node.value for _, node in tree.walk() if node.is_scalar and id(node) not in numbers),
            "[" in split.structure or "{" in split.structure,
        )

    def _page(self, example: _Example, source: Source, split: SplitText, holes: _Holes) -> ShapePage | None:
        """The page of a shape, made from its second run and compared with its first."""
        _, findings, manifests = example.output
        if has_marker(example.source.text, manifests, findings):
            return None
        _, values = _key(split.scalars, holes)
        varying = [one if value else None for one, value in zip(holes.varying, values, strict=True)]
        pairs = enumerate(zip(varying, values, strict=True))
        marks = [one.read(str(marker(number, one, value.value))) for number, (one, value) in pairs if one and value]
        # A marker can be an amount that the admin sets in other units.
        if any(mark is None or mark.is_admins for mark in marks):
            return None
        try:
            marked = partial(self._marked, source, split, holes)
            if any(map(self._is_about_own_env, marked().diagnostics)):
                return None
            fixed = [scalar_value(one) for one, value in zip(split.scalars, values, strict=True) if not value]
            page = ShapePage(marked, split, varying, holes.others.union(fixed))
            _, first = _key(example.scalars, holes)
            filled = page.fill(ShapedRun(example.source, example.scalars, first), lambda: self._whole(example.source))
        except (CompileError, NotUniformError):
            return None
        return page if filled is not None and _output(filled) == example.output else None

    def _marked(self, source: Source, split: SplitText, holes: _Holes) -> Compiled:
        """Compile a run with markers in place of its varying values.

        The last result is kept: `verify` needs it right after the page is made, and all of them would be large.
        """
        if self._last_marked is not None and self._last_marked[0] is source:
            return self._last_marked[1]
        document = self._parsed(source).documents[0]
        _, values = _key(split.scalars, holes)
        markers = {
            node: marker(number, one, value.value)
            for node, number in _numbers_of(document.root, split).items()
            if (one := holes.varying[number]) is not None and (value := values[number]) is not None
        }
        marked = Document(document.source, _with_markers(document.root, markers))
        compiled = compile_document(marked, self._setting)
        self._last_marked = source, compiled
        return compiled

    def _is_about_own_env(self, finding: Diagnostic) -> bool:
        """Whether the platform overrides a variable of the run; its own may be made of the run's name, and be equal."""
        own_envs = self._setting.platform.settings.fields.get("own_envs")
        return own_envs is not None and finding.path[:1] == ("envs",) and finding.path[-1] in own_envs.fields


def _numbers_of(tree: Node, split: SplitText) -> dict[int, int]:
    """The numbers of scalars by the identity of their nodes; without those that are not the whole value of one node."""
    places = {place: number for number, place in enumerate(positions(split))}
    found: dict[int, list[int]] = {}
    for _, node in tree.walk():
        number = places.get((node.span.line, node.span.column)) if node.is_scalar else None
        if number is not None and _is_value(split.scalars[number], node):
            found.setdefault(number, []).append(id(node))
    # An alias makes two values of one scalar.
    return {nodes[0]: number for number, nodes in found.items() if len(nodes) == 1}


def _is_value(scalar: str, node: Node) -> bool:
    value, span = scalar_value(scalar), node.span
    is_whole = "\n" in scalar or (span.end_line, span.end_column) == (span.line, span.column + len(scalar))
    return is_whole and value.__class__ is node.value.__class__ and value == node.value


def _key(scalars: Sequence[str], holes: _Holes) -> tuple[str, list[VaryingValue | None]]:
    """What all runs of a shape have in common, and the values that vary, by the number of their scalar."""
    key = [holes.prefix, *scalars]
    values: list[VaryingValue | None] = [None] * len(scalars)
    for number, read in holes.readers:
        value = read(scalars[number])
        if value is not None and not (holes.in_flow and value.has_comma):
            values[number] = value
            key[number + 1] = value.mark
    # One text is compared faster than many.
    return GAP.join(key), values


def _with_markers(node: Node, markers: Mapping[int, Value]) -> Node:
    if id(node) in markers:
        return node.but(value=markers[id(node)])
    return node.mapped(lambda child: _with_markers(child, markers))


def _output(compiled: Compiled) -> _Output:
    """All of a compilation that is not made on demand; without its trees, which are large."""
    of_run = (compiled.name, compiled.project, compiled.place, compiled.objects)
    return of_run, compiled.diagnostics, compiled.to_yaml()


def _used(cache: dict[KeyT, ItemT], key: KeyT) -> ItemT | None:
    """The item, which becomes the most recently used one."""
    if key not in cache:
        return None
    item = cache[key] = cache.pop(key)
    return item


def _remember(cache: dict[KeyT, ItemT], key: KeyT, item: ItemT) -> None:
    cache[key] = item
    if len(cache) > _MOST_SHAPES:
        del cache[next(iter(cache))]
