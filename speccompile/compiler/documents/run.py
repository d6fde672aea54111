"""Read a run of any form into its canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from speccompile.compiler.choose_manifests import actions_of, applicable_fields, target_of
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.entity_run import project_of
from speccompile.compiler.documents.profiles import choose
from speccompile.compiler.documents.run_forms import flatten
from speccompile.compiler.documents.targets import DEFAULT_TARGET, targets_of
from speccompile.compiler.normalize import normalize
from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.documents import Document, Profile, Run
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.identity_cache import by_identity
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.spec import Target
from speccompile.schema.library import Library
from speccompile.schema.suggestions import suggest_value
from speccompile.schema.validate import validate, without_faulty

_CONSEQUENCES = frozenset({"function/unknown", "run/not-compiled"})
"""Codes that errors of the platform file or of a function can cause."""


class ReadRun(NamedTuple):
    """A run, with its profile and target."""

    run: Run
    profile: Profile | None
    target: Target
    notices: tuple[Diagnostic, ...]
    unknown: tuple[Diagnostic, ...]
    """The error of a profile that does not exist."""


def read_run(document: Document, setting: Setting) -> ReadRun:
    """Read a run of any form. Raises CompileError with all errors of the document."""
    flat = flatten(document, setting.entities, setting.platform, setting.library)
    if setting.is_broken:
        flat = flat._replace(findings=tuple(one for one in flat.findings if one.code not in _CONSEQUENCES))
    if flat.fields is None:
        raise CompileError(flat.findings)
    tree, errors = validate(flat.fields, "run", setting.library)
    if errors:
        from speccompile.compiler.documents.wrong_document import wrong_document  # most runs have no errors

        if wrong := wrong_document(document.root, "run", setting.library):
            raise CompileError((wrong,))
    profile, unknown = choose(_profile_name(tree.fields.get("profile")), setting.profiles)
    gpu_key = str(profile.gpu_key.value) if profile and profile.gpu_key else None
    fields, field_errors = normalize(without_faulty(tree, errors), setting.platform, setting.library, gpu_key)
    target = target_of(profile, setting.library, flat.runtime)
    if target.entity_field and (flat.runtime is None or flat.runtime.target.value != target.name):
        raise CompileError((*flat.findings, _for_exported_runs(flat.fields, target, profile)))
    # The target of an unknown profile is unknown.
    foreign = _check_target(tree, profile, target, setting.library, knows_target=not unknown)
    findings = (*flat.findings, *errors, *foreign, *field_errors)
    if has_errors(findings):
        # A profile with errors is missing too, which is not an error of the run.
        raise CompileError((*findings, *(() if setting.is_broken else unknown)))
    top = tree.fields
    run = Run(
        source=document.source,
        name=top["name"],
        project=project_of(top.get("project"), setting.platform, setting.library),
        action=top["action"],
        profile=_profile_name(top.get("profile")),
        facts=flat.facts,
        fields=fields,
        runtime=flat.runtime,
        replaced=flat.replaced,
    )
    return ReadRun(run, profile, target, findings, unknown)


def _for_exported_runs(run: Node, target: Target, profile: Profile | None) -> Diagnostic:
    """The error for a run of another form or runtime than the target of its profile compiles."""
    return Diagnostic(
        code="target/refused",
        message=f"target `{target.name}` compiles exported runs of a runtime, and this is not one of them",
        span=run.fields["name"].span if "name" in run.fields else run.span,
        notes=_target_note(profile),
        help="choose a profile without this target, or export the run from DigitalHub",
    )


def _profile_name(profile: Node | None) -> Node | None:
    """The profile that a run names; None for null, an empty string and values of the wrong type."""
    return profile if profile is not None and profile.is_scalar and profile.value != "" else None


def _check_target(
    tree: Node, profile: Profile | None, target: Target, library: Library, *, knows_target: bool
) -> Iterator[Diagnostic]:
    """Report an action that the target does not support, and fields that do not apply to the action or target."""
    action = tree.fields.get("action")
    if action is None or not isinstance(action.value, str) or not action.value:
        return
    supported = actions_of(target)
    # Errors of the profile's target are not errors of the run.
    named = profile.target if profile else None
    knows_target = knows_target and (named is None or named.value in targets_of(library))
    if knows_target and action.value not in supported:
        yield _unsupported_action(action, target, profile, supported)
        return
    scopes = _fields_of_others(action.value, target, library)
    for name, node in tree.fields.items():
        if name in scopes and (knows_target or not scopes[name].targets):
            excluded = f"target `{target.name}`" if scopes[name].targets else f"action `{action.value}`"
            yield Diagnostic(
                code="run/foreign-field",
                message=f"`{name}` does not apply to {excluded}",
                span=node.key or node.span,
                path=(name,),
                notes=_target_note(profile) if scopes[name].targets else (),
                help=f"remove it, or use {_use(scopes[name])}",
            )


class _Scope(NamedTuple):
    """The actions, or else the targets, that a field applies to."""

    actions: Sequence[str]
    targets: Sequence[str]


def _use(scope: _Scope) -> str:
    if scope.targets:
        return f"a profile with target {' or '.join(f'`{other}`' for other in scope.targets)}"
    return f"action {' or '.join(f'`{other}`' for other in scope.actions)}"


def _target_note(profile: Profile | None) -> tuple[Note, ...]:
    """Where the profile sets the target; empty for the default target."""
    target = profile.target if profile else None
    return (Note("target set here by the profile", target.span),) if target else ()


def _unsupported_action(action: Node, target: Target, profile: Profile | None, supported: frozenset[str]) -> Diagnostic:
    known = " or ".join(f"`{other}`" for other in sorted(supported))
    return Diagnostic(
        code="run/foreign-action",
        message=f"target `{target.name}` does not support action `{action.value}`",
        span=action.span,
        path=("action",),
        notes=_target_note(profile),
        help=suggest_value("action", str(action.value), supported)
        or f"use action {known}{', or another profile' if profile else ''}",
    )


@by_identity(64)
def _fields_of_others(action: str, target: Target, library: Library) -> Mapping[str, _Scope]:
    """The fields that do not apply to this action and target, with their scope; none for an unknown action."""
    if action not in actions_of(target):
        return {}
    others: dict[str, _Scope] = {}
    applicable = applicable_fields(target, library)
    for name, schema in library.fields.items():
        if name not in applicable:
            others[name] = _Scope((), schema.get("x-targets") or (DEFAULT_TARGET,))
        elif action not in schema.get("x-actions", (action,)):
            others[name] = _Scope(schema["x-actions"], ())
    return others
