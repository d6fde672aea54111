"""Takes a document that should be a run, gives it canonical, whatever form it was written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from speccompile.diagnostics import CompileError, Diagnostic, has_errors
from speccompile.facts import facts_used
from speccompile.forms import flatten
from speccompile.library import Library
from speccompile.memo import by_identity
from speccompile.model import BUILT_IN, Document, Node, Part, Run
from speccompile.normalize import normalize
from speccompile.profiles import choose
from speccompile.setting import Setting
from speccompile.validate import validate, without_faulty


def read_run(document: Document, setting: Setting) -> tuple[Run, tuple[Diagnostic, ...]]:
    """The run, whatever form it was written in, with its notices. Raises whatever the document alone shows wrong."""
    flat = flatten(document, facts_used(setting.platform), setting.library)
    if flat.fields is None:
        raise CompileError(flat.findings)
    tree, found = validate(flat.fields, "run", setting.library)
    profile, unknown = choose(_said(tree.fields.get("profile")), setting.profiles)
    gpu_key = str(profile.gpu_key.value) if profile and profile.gpu_key else None
    fields, more = normalize(without_faulty(tree, found), setting.platform, setting.library, gpu_key)
    findings = (*flat.findings, *found, *_foreign(tree, setting.library), *more)
    if has_errors(findings):
        # A profile that could not be read is unknown as well, and not for the run to answer for.
        raise CompileError((*findings, *(() if setting.is_broken else unknown)))
    named = tree.fields
    project = named.get("project") or Node(
        setting.library.schemas["run"]["properties"]["project"]["default"], BUILT_IN, part=Part.DEFAULT
    )
    run = Run(
        source=document.source,
        name=named["name"],
        project=project,
        action=named["action"],
        profile=_said(named.get("profile")),
        facts=flat.facts,
        fields=fields,
    )
    return run, findings


def _said(profile: Node | None) -> Node | None:
    return profile if profile is not None and profile.is_scalar and profile.value != "" else None


def _foreign(tree: Node, library: Library) -> tuple[Diagnostic, ...]:
    action = tree.fields.get("action")
    if action is None or not isinstance(action.value, str):
        return ()
    wanted = _fields_of_others(action.value, library)
    return tuple(
        Diagnostic(
            code="run/foreign-field",
            message=f"`{name}` does not apply to action `{action.value}`",
            span=node.key or node.span,
            path=(name,),
            help=f"remove it, or use action {' or '.join(f'`{other}`' for other in wanted[name])}",
        )
        for name, node in tree.fields.items()
        if name in wanted
    )


@by_identity(16)
def _fields_of_others(action: str, library: Library) -> Mapping[str, Sequence[str]]:
    """The actions of every field that is not for this one; an action that nobody knows has all fields."""
    if action not in library.schemas["run"]["properties"]["action"]["enum"]:
        return {}
    told = {name: schema.get("x-actions", (action,)) for name, schema in library.fields.items()}
    return {name: actions for name, actions in told.items() if action not in actions}
