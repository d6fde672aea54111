"""Read a run in any written form into its canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from speccompile.compiler.choose_manifests import actions_of, applicable_fields, target_of
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.profiles import choose
from speccompile.compiler.documents.run_forms import flatten
from speccompile.compiler.documents.targets import DEFAULT_TARGET, targets_of
from speccompile.compiler.name_placeholders import facts_used
from speccompile.compiler.normalize import normalize
from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.documents import Document, Profile, Run
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.identity_cache import by_identity
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, Part
from speccompile.model.source import BUILT_IN
from speccompile.model.spec import Target
from speccompile.schema.library import Library
from speccompile.schema.validate import validate, without_faulty


class ReadRun(NamedTuple):
    """A run, and the profile and target that it is compiled under."""

    run: Run
    profile: Profile | None
    target: Target
    notices: tuple[Diagnostic, ...]
    unknown: tuple[Diagnostic, ...]
    """What is wrong with the profile that it names."""


def read_run(document: Document, setting: Setting) -> ReadRun:
    """Read a run, whatever form it was written in. Raises whatever the document alone shows wrong."""
    flat = flatten(document, facts_used(setting.platform), setting.library)
    if flat.fields is None:
        raise CompileError(flat.findings)
    tree, found = validate(flat.fields, "run", setting.library)
    profile, unknown = choose(_said(tree.fields.get("profile")), setting.profiles)
    gpu_key = str(profile.gpu_key.value) if profile and profile.gpu_key else None
    fields, more = normalize(without_faulty(tree, found), setting.platform, setting.library, gpu_key)
    target = target_of(profile, setting.library)
    # Nobody knows the target of a profile that is not there.
    foreign = _foreign(tree, profile, target, setting.library, knows_target=not unknown)
    findings = (*flat.findings, *found, *foreign, *more)
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
    return ReadRun(run, profile, target, findings, unknown)


def _said(profile: Node | None) -> Node | None:
    return profile if profile is not None and profile.is_scalar and profile.value != "" else None


def _foreign(
    tree: Node, profile: Profile | None, target: Target, library: Library, *, knows_target: bool
) -> Iterator[Diagnostic]:
    """The fields that are not for this action or this target, and an action that is not for this target."""
    action = tree.fields.get("action")
    if action is None or not isinstance(action.value, str):
        return
    known = actions_of(target)
    knows_target = knows_target and not _is_faulty(profile, library)
    if knows_target and action.value in _actions(library) and action.value not in known:
        yield _no_action(action, target, profile, known)
        return
    wanted = _fields_of_others(action.value, target, library)
    for name, node in tree.fields.items():
        if name in wanted and (knows_target or not wanted[name].targets):
            yield Diagnostic(
                code="run/foreign-field",
                message=f"`{name}` does not apply to {_scope(wanted[name], action.value, target)}",
                span=node.key or node.span,
                path=(name,),
                notes=_chosen(profile) if wanted[name].targets else (),
                help=f"remove it, or {_cure(wanted[name])}",
            )


def _is_faulty(profile: Profile | None, library: Library) -> bool:
    """Whether the target cannot be read, for which the run is not to blame."""
    named = profile.target if profile else None
    return named is not None and named.value not in targets_of(library)


class _Wanted(NamedTuple):
    """The actions, or else the targets, that a field is for."""

    actions: Sequence[str]
    targets: Sequence[str]


def _scope(wanted: _Wanted, action: str, target: Target) -> str:
    return f"target `{target.name}`" if wanted.targets else f"action `{action}`"


def _cure(wanted: _Wanted) -> str:
    if wanted.targets:
        return f"name a profile of target {' or '.join(f'`{other}`' for other in wanted.targets)}"
    return f"use action {' or '.join(f'`{other}`' for other in wanted.actions)}"


def _chosen(profile: Profile | None) -> tuple[Note, ...]:
    """Where the target is chosen; nowhere, if it is the usual one."""
    named = profile.target if profile else None
    return (Note("the profile chooses the target here", named.span),) if named else ()


def _no_action(action: Node, target: Target, profile: Profile | None, known: frozenset[str]) -> Diagnostic:
    return Diagnostic(
        code="run/foreign-action",
        message=f"target `{target.name}` makes nothing of action `{action.value}`",
        span=action.span,
        path=("action",),
        notes=_chosen(profile),
        help=f"use action {' or '.join(f'`{other}`' for other in sorted(known))}, or another profile",
    )


def _actions(library: Library) -> Sequence[str]:
    actions: Sequence[str] = library.schemas["run"]["properties"]["action"]["enum"]
    return actions


@by_identity(64)
def _fields_of_others(action: str, target: Target, library: Library) -> Mapping[str, _Wanted]:
    """What every field is for that is not for this action and target; an action that nobody knows has all fields."""
    if action not in _actions(library):
        return {}
    others: dict[str, _Wanted] = {}
    own = applicable_fields(target, library)
    for name, schema in library.fields.items():
        if name not in own:
            others[name] = _Wanted((), schema.get("x-targets") or (DEFAULT_TARGET,))
        elif action not in schema.get("x-actions", (action,)):
            others[name] = _Wanted(schema["x-actions"], ())
    return others
