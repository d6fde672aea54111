"""The result of compiling a run: text at once, trees with origins on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Profile, Run
from speccompile.model.findings import CompileError, in_order
from speccompile.model.key_path import KeyPath, parse_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.manifest import Manifest
from speccompile.model.origin import Origin, Override, origin_of
from speccompile.model.source import Span

if TYPE_CHECKING:
    from speccompile.compiler.explain import Explanation


class CreatedObject(NamedTuple):
    """An object that a run creates; no other run may create it."""

    kind: str
    name: str
    namespace: str
    place: Span
    """Position in the run."""


class CompiledTrees(NamedTuple):
    """The compilation as trees, every value with its origin."""

    run: Run
    profile: Profile | None
    manifests: tuple[Manifest, ...]
    overrides: tuple[Override, ...]
    replaced: tuple[Override, ...]


class Compiled:
    """The manifests of one run, with the origin of every value and all findings.

    Most callers need the text alone, so the trees, which cost far more, are built on first use.
    """

    __slots__ = (
        *("_build_text", "_build_whole", "_text", "_whole"),
        *("diagnostics", "filled", "name", "objects", "place", "project"),
    )

    _repr_html_: Callable[[], str]
    """The notebook view; `api` sets it, because the compiler does not import reports."""
    save: Callable[..., Any]
    """Write the manifests to a file or directory, and return the file; `api` sets it, because it uses the disk."""

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
        filled: Any = None,
    ) -> None:
        self.name: Final = name
        self.project: Final = project
        self.place: Final = place
        """Position of the run's name."""
        self.objects: Final = objects
        self.diagnostics: Final = diagnostics
        self.filled: Final = filled
        """The `FilledPage` of `shapes/page.py` that produced it; None if it was compiled on its own."""
        self._build_text: Final = text
        self._build_whole: Final = whole
        self._text: str | None = None
        self._whole: CompiledTrees | None = None

    def __repr__(self) -> str:
        return f"<Compiled {self.name}: {', '.join(f'{one.kind} {one.name}' for one in self.objects)}>"

    def __eq__(self, other: object) -> bool:
        """Whether input, output and origins are equal."""
        return isinstance(other, Compiled) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self.project, self.name, self.place))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle text and trees; `compile_many` has a cheaper wire format."""
        fields = (self.name, self.project, self.place, self.objects, self.diagnostics)
        return _unpickle, (*fields, self.to_yaml(), self.whole)

    def with_findings(self, findings: tuple[Diagnostic, ...]) -> Compiled:
        """The same result with further findings."""
        return self.but((*self.diagnostics, *findings)) if findings else self

    def but(self, diagnostics: tuple[Diagnostic, ...]) -> Compiled:
        """The same result with other findings."""
        return Compiled(
            name=self.name,
            project=self.project,
            place=self.place,
            objects=self.objects,
            diagnostics=in_order(diagnostics),
            text=self.to_yaml,
            whole=lambda: self.whole,
            filled=self.filled,
        )

    @property
    def whole(self) -> CompiledTrees:
        if self._whole is None:
            self._whole = self._build_whole()
        return self._whole

    @property
    def run(self) -> Run:
        return self.whole.run

    @property
    def profile(self) -> Profile | None:
        """The profile that the run names, or the default one."""
        return self.whole.profile

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        return self.whole.manifests

    @property
    def overrides(self) -> tuple[Override, ...]:
        """The run's values that profile or platform override or extend."""
        return self.whole.overrides

    @property
    def replaced(self) -> tuple[Override, ...]:
        """The overridden values of all layers."""
        return self.whole.replaced

    def origin(self, manifest: Manifest, path: str | KeyPath) -> Origin:
        """Which layer set the value at the path of a manifest, and where. Raises KeyError if there is no value."""
        steps = parse_path(path) if isinstance(path, str) else path
        node = manifest.tree.at(steps)
        if node is None:
            raise KeyError(f"{manifest.kind} {manifest.name} has no value at {path}")
        return origin_of(node)

    def explain(self, path: str | Sequence[str | int] | None = None) -> Explanations:
        """Every manifest line by line: which layer set each value, where, and which values it overrode.

        Printed, this is the output of `speccompile explain`.

        With a path, only the value there and those below it, in each manifest that has it; the end of a path is
        enough. Raises KeyError if no manifest has it.
        """
        from speccompile.compiler.explain import explain

        whole = Explanations.of(self, map(explain, self.manifests))
        if path is None:
            return whole
        steps = parse_path(path) if isinstance(path, str) else tuple(path)
        parts = Explanations.of(self, (part for explanation in whole for part in explanation.matching(steps)))
        if not parts:
            raise KeyError(f"no manifest of run {self.name} has a value at {path}")
        return parts

    def to_dicts(self) -> list[dict[str, Any]]:
        """All manifests as plain data, in the order of `to_yaml`."""
        return [manifest.data for manifest in self.manifests]

    def to_yaml(self) -> str:
        """All manifests as one YAML stream: the same bytes for the same input, everywhere."""
        if self._text is None:
            self._text = self._build_text()
        return self._text


class Explanations(tuple["Explanation", ...]):  # noqa: SLOT001  tuples cannot have slots for an attribute
    """Parts of a run's manifests, explained. As text, they are the output of `speccompile explain`; `api` sets that."""

    compiled: Compiled

    @classmethod
    def of(cls, compiled: Compiled, parts: Iterable[Explanation]) -> Explanations:
        explanations = cls(parts)
        explanations.compiled = compiled
        return explanations


Result: TypeAlias = Compiled | CompileError
"""The outcome of one run."""


class Rendered(NamedTuple):
    """The outcome of a run, and the text of its manifests in the requested shape."""

    result: Result
    text: str


Results: TypeAlias = tuple[tuple[Diagnostic, ...], Iterator[Rendered]]
"""Findings about profiles and platform, and the outcome of each run, in order, as an iterator."""


def _unpickle(*fields: Any) -> Compiled:
    name, project, place, objects, diagnostics, text, whole = fields
    return Compiled(
        name=name,
        project=project,
        place=place,
        objects=objects,
        diagnostics=diagnostics,
        text=lambda: text,
        whole=lambda: whole,
    )
