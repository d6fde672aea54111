"""Schemas of what the platform's settings allow: registries, volumes, reserved keys, and fields of other targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from speccompile.compiler.choose_manifests import applicable_fields, target_of
from speccompile.compiler.container_resources import amount
from speccompile.compiler.policy import CONFINEMENT_ANNOTATIONS, platform_labels, reserved_prefix
from speccompile.editor_schema.convert import EditorSchema, said, spellings, unsaid
from speccompile.editor_schema.field_locations import CLAIMED, either
from speccompile.editor_schema.format_patterns import Bounds, images_below, literal, whole
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView, explained
from speccompile.editor_schema.resources import within
from speccompile.model.diagnostic import quote
from speccompile.schema.volume_types import CREATED, EXISTING, POD, SECRET


def images_by_registry(view: ProfileView) -> Iterator[FieldSchema]:
    """Images of containers and of volumes, under the allowed registries only."""
    allowed = view.platform.settings.fields.get("allowed_registries")
    if allowed is not None:
        names = [str(item.value) for item in allowed.items]
        reason = explained(f"{view.who(allowed)} allows images under {' or '.join(map(quote, names))}")
        ways = [{"type": "null"}, *({"pattern": images_below(name), **reason} for name in names)]
        yield "image", {"anyOf": ways, **reason}
        yield "volumes", {"items": _in_spec(("image",), {"anyOf": ways, **reason})}


def _in_spec(names: Iterable[str], made: EditorSchema) -> EditorSchema:
    """What must hold of a volume, so that what its `spec` says under any of the names is as it should be."""
    return {"properties": {"spec": {"properties": dict.fromkeys(names, made)}}}


def allowed_volumes(view: ProfileView) -> Iterator[FieldSchema]:
    """The volumes that a run may bring; one that is equal to the profile's own is the profile's."""
    allowed = view.setting_at("volumes", "allowed_types")
    existing, foreign = view.setting_at("volumes", "allow_existing"), view.setting_at("secrets", "allow_foreign")
    may_mount = {POD: True, CREATED: True, EXISTING: existing, SECRET: existing or foreign}
    known = view.library.volume_types
    # By type: the keys of `spec` that make a volume one that runs may mount.
    saving = {
        name: [way for key, mounts in one.with_key.items() if may_mount[mounts] for way in spellings(key, {})]
        for name, one in known.items()
    }
    types = [name for name, one in known.items() if may_mount[one.usually] or saving[name]]
    types = [name for name in types if allowed is None or name in allowed]
    reason = explained(f"the platform allows {' or '.join(map(quote, types)) or 'no volumes'}")
    claims: EditorSchema = {} if "shared_volume" in types else {"not": {}, **reason}
    others = {"properties": {name: {"enum": types, **reason} for name in _TYPE}}
    demands: list[EditorSchema] = [{"if": CLAIMED, "then": claims, "else": others}]
    for name, one in known.items():
        if not may_mount[one.usually] and saving[name]:
            demands.append({"if": _is_volume(name), "then": either(said("spec", key) for key in saving[name])})
        if one.usually == SECRET and not foreign:
            store = whole("[-.a-z0-9]+".join(map(literal, str(view.setting_at("secrets", "store")).split("{project}"))))
            named = {"if": said("spec", one.object_key), "then": said("spec", one.object_key, pattern=store)}
            demands.append({"if": _is_volume(name), "then": {**named, "else": said("name", pattern=store)}})
    fixed = view.fixed.fields.get("volumes")
    if fixed and fixed.items:
        own = [item.fields["name"].value for item in fixed.items]
        demands = [{"if": said("name", enum=own), "else": {"allOf": demands}}]
    yield "volumes", {"items": {"allOf": demands}}


_TYPE = ("volume_type", "volumeType")


def _is_volume(*kinds: str) -> EditorSchema:
    return {"anyOf": [said(name, enum=list(kinds)) for name in _TYPE]}


def volume_sizes(view: ProfileView) -> Iterator[FieldSchema]:
    """The ceilings of volumes: of claims, and of directories on disk and in memory."""
    ceilings = {name: view.platform.settings.at(("ceilings", name)) for name in ("mem", "disk", "pvc")}
    bounded = {
        name: {**within(Bounds(most=amount(node).value)), **explained(view.ceiling_reason(node))} if node else {}
        for name, node in ceilings.items()
    }
    in_memory, on_disk = (_in_spec(("size_limit", "sizeLimit"), bounded[name]) for name in ("mem", "disk"))
    demands = [{"if": said("spec", "medium", const="Memory"), "then": in_memory, "else": on_disk}]
    most, size = ceilings["pvc"], view.platform.settings.at(("pvc", "size"))
    if most and size and amount(size) > amount(most):
        claims = {"allOf": [_is_volume("persistent_volume_claim", "ephemeral"), {"not": CLAIMED}]}
        demands.append({"if": claims, "then": said("spec", "size")})
    yield "volumes", {"items": {**_in_spec(("size",), bounded["pvc"]), "allOf": demands}}


def reserved_keys(view: ProfileView) -> Iterator[FieldSchema]:
    """Keys that are not for runs to use."""
    own = {"pattern": f"^{literal(reserved_prefix(view.platform))}"}
    labels = {"not": {"anyOf": [own, {"enum": sorted(platform_labels(view.platform))}]}, **explained(_RESERVED)}
    yield "labels", {"propertyNames": labels, "items": {"properties": {"name": {"allOf": [labels]}}}}
    yield "annotations", {"propertyNames": {"not": own, **explained(_RESERVED)}}
    if view.setting_at("security", "disable_root"):
        confining = {"pattern": f"^(?:{'|'.join(map(literal, CONFINEMENT_ANNOTATIONS))})"}
        fixed = view.fixed.fields.get("annotations")
        may_be: list[EditorSchema] = [{"not": confining}, *({"const": key} for key in (fixed.fields if fixed else ()))]
        yield (
            "annotations",
            {"propertyNames": {**either(may_be), **explained("it changes how containers are confined")}},
        )


_RESERVED = "it is set by the compiler itself"


def fields_of_other_targets(view: ProfileView) -> Iterator[FieldSchema]:
    """Fields that are not for the profile's target."""
    target = target_of(view.profile, view.library)
    for name in view.library.fields.keys() - applicable_fields(target, view.library):
        yield name, unsaid(f"`{name}` does not apply to target `{target.name}`")
