"""Profiles that are not the admin's, restricted to what a run could set.

The platform checks their fields like those of a run. A base document would bypass these checks, so it keeps only the
keys that `schemas/base.schema.json` marks as open. Keys that correspond to a field become defaults of the profile, and
everything else is for admins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from speccompile.compiler.documents.targets import DEFAULT_TARGET
from speccompile.compiler.merge import merge_layers
from speccompile.compiler.normalize import normalize
from speccompile.compiler.pod_structure import MAIN
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Platform, Profile
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.node import Node, Part
from speccompile.schema.library import Library, Schema
from speccompile.schema.validate import validate, without_faulty


def restrict_profiles(
    profiles: Mapping[str, Profile], platform: Platform, library: Library
) -> tuple[Mapping[str, Profile], tuple[Diagnostic, ...]]:
    """The profiles without what only an admin may set, which is reported once, and not for each child."""
    restricted: dict[str, Profile] = {}
    findings: dict[object, Diagnostic] = {}
    for name, profile in profiles.items():
        restricted[name], errors = _restrict(profile, platform, library)
        findings |= {(error.code, error.span): error for error in errors}
    return restricted, tuple(findings.values())


def _restrict(profile: Profile, platform: Platform, library: Library) -> tuple[Profile, tuple[Diagnostic, ...]]:
    findings: list[Diagnostic] = []
    if profile.target is not None and profile.target.value != DEFAULT_TARGET:
        findings.append(_refusal(profile.target, ("target",), f"select target {quote(profile.target.value)}"))
    bases, defaults = {}, []
    for kind, base in profile.bases.items():
        removed = tuple(_not_open(base, (), library.schemas["base"], library))
        bases[kind] = _without(base, {id(node) for _, node, _ in removed})
        for path, node, field in removed:
            if field is None:
                findings.append(_refusal(node, path, f"set `{format_path(path)}` in a base document"))
                continue
            default, errors = _as_default(field, node, profile, platform, library)
            defaults.append(default)
            findings += errors
    layer = merge_layers([*defaults, profile.defaults], library)
    return profile._replace(is_trusted=False, defaults=layer, bases=bases), tuple(findings)


def _not_open(
    node: Node, path: KeyPath, schema: Schema, library: Library
) -> Iterator[tuple[KeyPath, Node, str | None]]:
    """The outermost values of a base document that are not open, and the field that sets each, if any."""
    schema = library.resolve(schema)
    field, is_open, properties = schema.get("x-field"), schema.get("x-open", False), schema.get("properties")
    if is_open and isinstance(node.value, tuple):
        for index, item in enumerate(node.items):
            if item.fields["name"].value == MAIN:
                yield from _not_open(item, (*path, index), schema["items"], library)
            else:
                yield (*path, index), item, None
    elif isinstance(is_open, Mapping) and isinstance(node.value, Mapping):
        for key, child in node.fields.items():
            yield from _not_open(child, (*path, key), {"x-open": is_open.get(key, False)}, library)
    elif properties is not None and field is None and isinstance(node.value, Mapping):
        for key, child in node.fields.items():
            yield from _not_open(child, (*path, key), properties.get(key, {}), library)
    elif not is_open and not schema.get("x-set-by-compiler"):
        yield path, node, field


def _without(node: Node, removed: Collection[int]) -> Node:
    """The node without those of its descendants that have these identities."""
    if isinstance(node.value, tuple):
        return node.but(value=tuple(_without(item, removed) for item in node.items if id(item) not in removed))
    if isinstance(node.value, Mapping):
        kept = {key: child for key, child in node.fields.items() if id(child) not in removed}
        return node.with_fields({key: _without(child, removed) for key, child in kept.items()})
    return node


def _as_default(
    field: str, node: Node, profile: Profile, platform: Platform, library: Library
) -> tuple[Node, tuple[Diagnostic, ...]]:
    """A value of a base document as the default of a field: both are weaker than the run."""
    written = Node({"id": profile.id, "defaults": Node({field: node}, node.span)}, node.span)
    tree, errors = validate(written, "profile", library)
    key = str(profile.gpu_key.value) if profile.gpu_key else None
    layer = without_faulty(tree, errors).fields.get("defaults") or Node({}, node.span)
    layer, more = normalize(layer, platform, library, key)
    return layer.marked(Part.DEFAULT), (*errors, *more)


def _refusal(node: Node, path: KeyPath, what: str) -> Diagnostic:
    return Diagnostic(
        code="profile/untrusted",
        message=f"only an admin's profile may {what}",
        span=node.place,
        path=path,
        notes=(Note("the command line names the admin's files, and this profile is not one of them"),),
        help="remove it, or ask the admin to pass this profile with --profiles",
    )
