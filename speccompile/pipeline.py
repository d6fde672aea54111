"""Takes a document and a setting, gives the compilation: the line from a run to its manifests."""

from __future__ import annotations

from speccompile.approve import approve
from speccompile.bases import over_bases
from speccompile.compiled import Compiled, Made, Whole
from speccompile.diagnostics import CompileError, has_errors, in_order, stop_if_any
from speccompile.merge import merge
from speccompile.model import Document, Layer, Manifest, Run
from speccompile.plan import plan
from speccompile.profiles import choose
from speccompile.render import render
from speccompile.runs import read_run
from speccompile.serialize import serialize
from speccompile.setting import Setting


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
    whole = Whole(run, profile, manifests, merged.overrides, merged.replaced)
    return Compiled(
        name=str(run.name.value),
        project=str(run.project.value),
        place=run.name.span,
        objects=tuple(_made(manifest, run) for manifest in manifests),
        diagnostics=found,
        text=lambda: serialize(manifest.data for manifest in manifests),
        whole=lambda: whole,
    )


def _made(manifest: Manifest, run: Run) -> Made:
    metadata = manifest.tree.fields["metadata"].fields
    name, namespace = metadata["name"], metadata.get("namespace")
    # A name that the platform alone gives is no line of the run's.
    place = name.span if name.span.source.layer is Layer.RUN else run.name.span
    return Made(manifest.kind, str(name.value), str(namespace.value) if namespace else "", place)
