"""The whole compiler on one page: one document through all stages."""

from __future__ import annotations

from collections.abc import Callable

from speccompile.compiler.approve import approve
from speccompile.compiler.base_documents import merge_over_bases, shape_faults
from speccompile.compiler.changed_names import changed_names
from speccompile.compiler.compiled import Compiled, CompiledTrees, CreatedObject
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.run import read_run
from speccompile.compiler.kubernetes_rules import job_labels_in
from speccompile.compiler.merge import merge
from speccompile.compiler.object_size import LARGEST_SMALL_TEXT, oversized_objects
from speccompile.compiler.plan import plan
from speccompile.compiler.render import Sketch, fill_manifests, identity_of, sketch_plan
from speccompile.compiler.rendering.template_errors import TemplateFault
from speccompile.compiler.rendering.text_writer import manifest_text
from speccompile.compiler.reserved_names import reserved_names
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document, Run
from speccompile.model.findings import CompileError, has_errors, in_order, stop_if_any
from speccompile.model.full_path import FULL_PATH
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node
from speccompile.model.secret_positions import is_free_of_secrets
from speccompile.model.source import Layer, Span
from speccompile.model.spec import Merged
from speccompile.schema.library import Library
from speccompile.yaml_text.serialize import serialize


def compile_document(document: Document, setting: Setting) -> Compiled:
    """Compile one run. Raises CompileError with all findings up to the stage that failed."""
    run, profile, target, notices, profile_faults = read_run(document, setting)
    if setting.is_broken:
        raise CompileError(notices)
    stop_if_any((*notices, *profile_faults))
    merged, overrides = merge(run, profile, target, setting.platform, setting.library)
    try:
        approved, warnings = approve(merged, setting.library)
        planned = plan(approved, setting.library)
        output = _render(sketch_plan(planned, setting.library), approved.merged, setting.library)
    except CompileError as error:
        raise CompileError((*notices, *overrides, *error.diagnostics), run, merged.overrides) from None
    except TemplateFault as error:
        findings = (*notices, *overrides, *warnings, *(fault.finding for fault in error.faults))
        raise CompileError(findings, run, merged.overrides) from None
    # Almost every text is small, and then no trees are built.
    sizes = oversized_objects(output.manifests()) if len(output.text) > LARGEST_SMALL_TEXT else ()
    of_objects = (
        *(() if _is_named_by_id(run) else changed_names(run.name, output.objects)),
        *reserved_names(run, output.objects, setting.platform),
        *sizes,
    )
    source = document.source
    findings = in_order(
        (*notices, *overrides, *warnings, *output.notices, *of_objects),
        free=source if not FULL_PATH.get() and is_free_of_secrets(source.text) else None,
    )
    if has_errors(findings):
        raise CompileError(findings, run, merged.overrides)
    return Compiled(
        name=str(run.name.value),
        project=str(run.project.value),
        place=run.name.span,
        objects=output.objects,
        diagnostics=findings,
        text=lambda: output.text,
        whole=lambda: CompiledTrees(run, profile, output.manifests(), merged.overrides, merged.replaced),
    )


def _is_named_by_id(run: Run) -> bool:
    """Whether the platform that exported the run chose its name."""
    return "id" in run.facts and run.facts["id"].value == run.name.value


class _Output(NamedTuple):
    """The manifests of a run as text, and as trees on demand."""

    text: str
    objects: tuple[CreatedObject, ...]
    manifests: Callable[[], tuple[Manifest, ...]]
    notices: tuple[Diagnostic, ...] = ()


def _render(sketches: tuple[Sketch, ...], merged: Merged, library: Library) -> _Output:
    """Write the text straight from the sketches; build trees only to merge them over base documents."""
    here = merged.run.name.span
    if library.has_custom_templates:
        stop_if_any(finding for sketch in sketches for finding in job_labels_in(sketch.skeleton.tree))
    objects = tuple([_object(*identity_of(sketch), here) for sketch in sketches])
    if merged.profile is None or not merged.profile.bases:
        if FULL_PATH.get():
            manifests = fill_manifests(sketches)
            return _Output(serialize(manifest.data for manifest in manifests), objects, lambda: manifests)
        return _Output(manifest_text(sketches), objects, lambda: fill_manifests(sketches))
    rendered = fill_manifests(sketches)
    if library.has_custom_templates:
        stop_if_any(shape_faults(rendered, library))
    manifests, notices = merge_over_bases(rendered, merged, library)
    metadata = [(manifest.kind, manifest.tree.fields["metadata"].fields) for manifest in manifests]
    objects = tuple(_object(kind, fields["name"], fields.get("namespace"), here) for kind, fields in metadata)
    return _Output(serialize(manifest.data for manifest in manifests), objects, lambda: manifests, notices)


def _object(kind: str, name: Node, namespace: Node | None, here: Span) -> CreatedObject:
    # A name that only the platform sets has no line in the run.
    place = name.span if name.span.source.layer is Layer.RUN else here
    return CreatedObject(kind, str(name.value), str(namespace.value) if namespace else "", place)
