"""Schemas for the platform's settings: registries, volumes, reserved keys, and fields of other targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from speccompile.compiler.choose_manifests import applicable_fields, target_of
from speccompile.compiler.container_resources import amount
from speccompile.compiler.isolation_keys import ISOLATION_KEYS
from speccompile.compiler.policy import platform_labels, reserved_prefix
from speccompile.editor_schema.convert import EditorSchema, has_value, must_be_unset, spellings
from speccompile.editor_schema.field_locations import CLAIMED, any_of
from speccompile.editor_schema.format_patterns import Bounds, anchored, images_below, literal
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView, with_reason
from speccompile.editor_schema.resources import within
from speccompile.model.diagnostic import quote
from speccompile.schema.field_path import KEYED_BY_LABEL
from speccompile.schema.volume_types import CREATED, EXISTING, POD_STORAGE, SECRET


def images_by_registry(view: ProfileView) -> Iterator[FieldSchema]:
    """Images of containers and volumes in the allowed registries."""
    allowed = view.platform.settings.fields.get("allowed_registries")
    if allowed is not None:
        names = [str(item.value) for item in allowed.items]
        reason = with_reason(f"{view.author_of(allowed)} allows images under {' or '.join(map(quote, names))}")
        ways = [{"type": "null"}, *({"pattern": images_below(name), **reason} for name in names)]
        yield "image", {"anyOf": ways, **reason}
        yield "volumes", {"items": _in_spec(("image",), {"anyOf": ways, **reason})}


def _in_spec(names: Iterable[str], constraint: EditorSchema) -> EditorSchema:
    """The schema of a volume that applies the constraint to these keys of its `spec`."""
    return {"properties": {"spec": {"properties": dict.fromkeys(names, constraint)}}}


def allowed_volumes(view: ProfileView) -> Iterator[FieldSchema]:
    """The volumes that a run may add; it may repeat those of the profile."""
    allowed = view.setting_at("volumes", "allowed_types")
    existing, foreign = view.setting_at("volumes", "allow_existing"), view.setting_at("secrets", "allow_foreign")
    may_mount = {POD_STORAGE: True, CREATED: True, EXISTING: existing, SECRET: existing or foreign}
    volume_types = view.library.volume_types
    # By type: the keys of `spec` with which runs may mount the volume.
    allowing_keys = {
        name: [way for key, mounts in one.with_key.items() if may_mount[mounts] for way in spellings(key, {})]
        for name, one in volume_types.items()
    }
    types = [name for name, one in volume_types.items() if may_mount[one.usually] or allowing_keys[name]]
    types = [name for name in types if allowed is None or name in allowed]
    reason = with_reason(f"the platform allows {' or '.join(map(quote, types)) or 'no volumes'}")
    claims: EditorSchema = {} if "shared_volume" in types else {"not": {}, **reason}
    others = {"properties": {name: {"enum": types, **reason} for name in _TYPE}}
    constraints: list[EditorSchema] = [{"if": CLAIMED, "then": claims, "else": others}]
    for name, one in volume_types.items():
        if not may_mount[one.usually] and allowing_keys[name]:
            constraints.append(
                {"if": _is_volume(name), "then": any_of(has_value("spec", key) for key in allowing_keys[name])}
            )
        if one.usually == SECRET and not foreign:
            store = anchored(
                "[-.a-z0-9]+".join(map(literal, str(view.setting_at("secrets", "store")).split("{project}")))
            )
            named = {
                "if": has_value("spec", one.object_key),
                "then": has_value("spec", one.object_key, pattern=store),
            }
            constraints.append({"if": _is_volume(name), "then": {**named, "else": has_value("name", pattern=store)}})
    fixed = view.fixed.fields.get("volumes")
    if fixed and fixed.items:
        names = [item.fields["name"].value for item in fixed.items]
        constraints = [{"if": has_value("name", enum=names), "else": {"allOf": constraints}}]
    yield "volumes", {"items": {"allOf": constraints}}


_TYPE = ("volume_type", "volumeType")


def _is_volume(*kinds: str) -> EditorSchema:
    return {"anyOf": [has_value(name, enum=list(kinds)) for name in _TYPE]}


def volume_sizes(view: ProfileView) -> Iterator[FieldSchema]:
    """The limits of claims, and of directories on disk and in memory."""
    ceilings = {name: view.platform.settings.at(("ceilings", name)) for name in ("mem", "disk", "pvc")}
    bounded = {
        name: {**within(Bounds(most=amount(node).value)), **with_reason(view.limit_reason(node))} if node else {}
        for name, node in ceilings.items()
    }
    in_memory, on_disk = (_in_spec(("size_limit", "sizeLimit"), bounded[name]) for name in ("mem", "disk"))
    constraints = [{"if": has_value("spec", "medium", const="Memory"), "then": in_memory, "else": on_disk}]
    most, size = ceilings["pvc"], view.platform.settings.at(("pvc", "size"))
    if most and size and amount(size) > amount(most):
        claims = {"allOf": [_is_volume("persistent_volume_claim", "ephemeral"), {"not": CLAIMED}]}
        constraints.append({"if": claims, "then": has_value("spec", "size")})
    yield "volumes", {"items": {**_in_spec(("size",), bounded["pvc"]), "allOf": constraints}}


def deadlines(view: ProfileView) -> Iterator[FieldSchema]:
    """The longest deadline of a job."""
    if limit := view.platform.settings.at(("jobs", "deadline_seconds")):
        yield "deadline_seconds", {"maximum": limit.value, **with_reason(view.limit_reason(limit))}


def reserved_keys(view: ProfileView) -> Iterator[FieldSchema]:
    """Keys that runs may not use."""
    reserved = {"pattern": f"^{literal(reserved_prefix(view.platform))}"}
    labels = {"not": {"anyOf": [reserved, {"enum": sorted(platform_labels(view.platform))}]}, **with_reason(_RESERVED)}
    yield "labels", {"propertyNames": labels, "items": {"properties": {"name": {"allOf": [labels]}}}}
    yield "annotations", {"propertyNames": {"not": reserved, **with_reason(_RESERVED)}}
    reason = with_reason("this key changes how pods are isolated: only admins may set it")
    for field in KEYED_BY_LABEL:
        fixed = view.fixed.fields.get(field)
        may_be: list[EditorSchema] = [
            {"not": {"pattern": _any_key(ISOLATION_KEYS), **reason}},
            *({"const": key} for key in (fixed.fields if fixed else ())),
            *({"pattern": _any_key(allowed)} for allowed in [view.setting_at("allowed_keys")] if allowed),
        ]
        keys = {**any_of(may_be), **reason}
        yield field, {"propertyNames": keys, "items": {"properties": {"name": {"allOf": [keys]}}}}


def _any_key(patterns: Iterable[str]) -> str:
    """The pattern of keys that match one of these, with `*` for any text."""
    return f"^(?:{'|'.join('.*'.join(map(literal, pattern.split('*'))) for pattern in patterns)})$"


_RESERVED = "this key is reserved for the compiler"


def fields_of_other_targets(view: ProfileView) -> Iterator[FieldSchema]:
    """Fields that do not apply to the profile's target."""
    target = target_of(view.profile, view.library)
    for name in view.library.fields.keys() - applicable_fields(target, view.library):
        yield name, must_be_unset(f"`{name}` does not apply to target `{target.name}`")
