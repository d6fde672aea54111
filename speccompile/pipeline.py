"""Takes a document and a setting, gives the compilation: the line from a run to its manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speccompile.approve import approve
from speccompile.bases import over_bases
from speccompile.diagnostics import CompileError, Diagnostic, has_errors, in_order, stop_if_any
from speccompile.explain import Explanation, explain
from speccompile.merge import merge
from speccompile.model import Document, KeyPath, Manifest, Origin, Override, Profile, Run, origin_of, parse_path
from speccompile.plan import plan
from speccompile.profiles import choose
from speccompile.render import render
from speccompile.runs import read_run
from speccompile.serialize import serialize
from speccompile.setting import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """The manifests of one run, with the origin of every value and whatever was noticed on the way."""

    run: Run
    profile: Profile | None
    """The profile that the run named, or the default one."""
    manifests: tuple[Manifest, ...]
    diagnostics: tuple[Diagnostic, ...]
    overrides: tuple[Override, ...]
    """What profile and platform did to the run's values: replaced them, or added to them."""
    replaced: tuple[Override, ...]
    """What any layer said and a stronger one replaced."""

    def __repr__(self) -> str:
        return f"<Compiled {self.name}: {', '.join(f'{made.kind} {made.name}' for made in self.manifests)}>"

    def _repr_html_(self) -> str:
        from speccompile.report.notebook import compiled_html  # wanted by notebooks, only

        return compiled_html(self)

    @property
    def name(self) -> str:
        return str(self.run.name.value)

    @property
    def project(self) -> str:
        return str(self.run.project.value)

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
        whole = tuple(explain(manifest) for manifest in self.manifests)
        if path is None:
            return whole
        steps = parse_path(path) if isinstance(path, str) else tuple(path)
        parts = tuple(part for told in whole for part in told.found(steps))
        if not parts:
            raise KeyError(f"no manifest of run {self.name} has anything at {path}")
        return parts

    def to_yaml(self) -> str:
        """All manifests as one YAML stream: the same bytes for the same input, everywhere."""
        return serialize(manifest.data for manifest in self.manifests)


def compile_document(document: Document, setting: Setting) -> Compiled:
    """The compilation of one run. Raises CompileError with everything found by the time it had to stop."""
    run, told = read_run(document, setting)
    if setting.is_broken:
        raise CompileError(told)
    profile, unknown = choose(run.profile, setting.profiles)
    stop_if_any((*told, *unknown))
    merged, lost = merge(run, profile, setting.platform, setting.library)
    try:
        approved, warnings = approve(merged, setting.library)
        rendered = render(plan(approved), setting.library)
        manifests, notices = over_bases(rendered, merged, setting.library)
    except CompileError as error:
        raise CompileError((*told, *lost, *error.diagnostics), run, merged.overrides) from None
    found = in_order((*told, *lost, *warnings, *notices))
    if has_errors(found):
        raise CompileError(found, run, merged.overrides)
    return Compiled(
        run=run,
        profile=profile,
        manifests=manifests,
        diagnostics=found,
        overrides=merged.overrides,
        replaced=merged.replaced,
    )
