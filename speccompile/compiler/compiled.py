"""The result of compiling a run: text at once, trees with origins on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Profile, Run
from speccompile.model.findings import CompileError
from speccompile.model.key_path import KeyPath, parse_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.manifest import Manifest
from speccompile.model.origin import Origin, Override, origin_of
from speccompile.model.source import Span

if TYPE_CHECKING:
    from speccompile.compiler.explain import Explanation


class CreatedObject(NamedTuple):
    """An object that a run makes: no other run may make it as well."""

    kind: str
    name: str
    namespace: str
    place: Span
    """Where the run says so."""


class CompiledTrees(NamedTuple):
    """Everything about a compilation, as trees in which every value knows its origin."""

    run: Run
    profile: Profile | None
    manifests: tuple[Manifest, ...]
    overrides: tuple[Override, ...]
    replaced: tuple[Override, ...]


class Compiled:
    """The manifests of one run, with the origin of every value and whatever was noticed on the way.

    Most callers want the text alone, which costs a fraction of the trees: these are made when they are first asked for.
    """

    __slots__ = ("_give_text", "_give_whole", "_text", "_whole", "diagnostics", "name", "objects", "place", "project")

    _repr_html_: Callable[[], str]
    """What notebooks show; `api` sets it, because the compiler knows no reports."""

    def __init__(  # noqa: PLR0913  all by keyword
        self,
        *,
        name: str,
        project: str,
        place: Span,
        objects: tuple[CreatedObject, ...],
        diagnostics: tuple[Diagnostic, ...],
        text: Callable[[], str],
        whole: Callable[[], CompiledTrees],
    ) -> None:
        self.name: Final = name
        self.project: Final = project
        self.place: Final = place
        """Where the run's name stands."""
        self.objects: Final = objects
        self.diagnostics: Final = diagnostics
        self._give_text: Final = text
        self._give_whole: Final = whole
        self._text: str | None = None
        self._whole: CompiledTrees | None = None

    def __repr__(self) -> str:
        return f"<Compiled {self.name}: {', '.join(f'{made.kind} {made.name}' for made in self.objects)}>"

    def __eq__(self, other: object) -> bool:
        """Whether both came of the same, and to the same, with the same origins."""
        return isinstance(other, Compiled) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self.project, self.name, self.place))

    def __reduce__(self) -> tuple[Any, ...]:
        """With everything about it, so that it can be sent anywhere; `compile_many` has a cheaper way."""
        told = (self.name, self.project, self.place, self.objects, self.diagnostics)
        return _revived, (*told, self.to_yaml(), self.whole)

    @property
    def whole(self) -> CompiledTrees:
        if self._whole is None:
            self._whole = self._give_whole()
        return self._whole

    @property
    def run(self) -> Run:
        return self.whole.run

    @property
    def profile(self) -> Profile | None:
        """The profile that the run named, or the default one."""
        return self.whole.profile

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        return self.whole.manifests

    @property
    def overrides(self) -> tuple[Override, ...]:
        """What profile and platform did to the run's values: replaced them, or added to them."""
        return self.whole.overrides

    @property
    def replaced(self) -> tuple[Override, ...]:
        """What any layer said and a stronger one replaced."""
        return self.whole.replaced

    def origin(self, manifest: Manifest, path: str | KeyPath) -> Origin:
        """Who set the value at the path of a manifest, and where. Raises KeyError where there is no value."""
        steps = parse_path(path) if isinstance(path, str) else path
        node = manifest.tree.at(steps)
        if node is None:
            raise KeyError(f"{manifest.kind} {manifest.name} has nothing at {path}")
        return origin_of(node)

    def explain(self, path: str | Sequence[str | int] | None = None) -> tuple[Explanation, ...]:
        """Every manifest line by line: who set each value, where, and what lost in its place.

        With a path, only what stands there and below, in each manifest that has it; the end of a path is enough.
        Raises KeyError where no manifest has it.
        """
        from speccompile.compiler.explain import explain

        whole = tuple(explain(manifest) for manifest in self.manifests)
        if path is None:
            return whole
        steps = parse_path(path) if isinstance(path, str) else tuple(path)
        parts = tuple(part for told in whole for part in told.matching(steps))
        if not parts:
            raise KeyError(f"no manifest of run {self.name} has anything at {path}")
        return parts

    def to_yaml(self) -> str:
        """All manifests as one YAML stream: the same bytes for the same input, everywhere."""
        if self._text is None:
            self._text = self._give_text()
        return self._text


Result: TypeAlias = Compiled | CompileError
"""What became of one run."""


class Rendered(NamedTuple):
    """What became of a run, and the text of its manifests in the shape that was asked for."""

    result: Result
    text: str


Results: TypeAlias = tuple[tuple[Diagnostic, ...], Iterator[Rendered]]
"""What is wrong with profiles and platform, and what becomes of each run, in order, as it comes."""


def _revived(*told: Any) -> Compiled:
    name, project, place, objects, diagnostics, text, whole = told
    return Compiled(
        name=name,
        project=project,
        place=place,
        objects=objects,
        diagnostics=diagnostics,
        text=lambda: text,
        whole=lambda: whole,
    )
