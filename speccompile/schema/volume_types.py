"""Volume types, which are the entries of `$defs/volume_types` in `fields.schema.json`.

An entry is the schema of a volume of that type, with `x-mounts`; the options and checks of `volume_type` are generated
from all entries. A schema with an entry that does not declare `x-mounts` is rejected.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple

_Schema: TypeAlias = Mapping[str, Any]

POD_STORAGE = "pod"
"""`x-mounts` of storage with the lifetime of the pod: a directory, a claim per pod, the files of an image."""
CREATED = "created"
"""`x-mounts` of an object that is created for the run."""
EXISTING = "existing"
"""`x-mounts` of existing storage; runs need the platform's `volumes.allow_existing`."""
SECRET = "secret"  # noqa: S105  the word of the schema
"""`x-mounts` of an existing Secret; one other than the project's store needs `secrets.allow_foreign`."""
CLAIM = "persistent_volume_claim"
"""The type of a claim that is created for the run; one that names an existing claim is normalized to another type."""
MOUNTS = (POD_STORAGE, CREATED, EXISTING, SECRET)


class VolumeType(NamedTuple):
    """What the volumes of a type mount."""

    usually: str
    """One of `MOUNTS`."""
    with_key: Mapping[str, str]
    """What they mount if their `spec` has the key."""
    object_key: str
    """The key of `spec` that names an existing object (`x-object`); without it, the volume's name does."""
    instead: str | None
    """Help for a run that may not mount existing storage (`x-instead`)."""

    def mounts(self, spec: Container[str]) -> str:
        """What a volume with these keys in its `spec` mounts."""
        return next((mounted for key, mounted in self.with_key.items() if key in spec), self.usually)


def volume_types(fields: _Schema) -> Mapping[str, VolumeType]:
    """The volume types in the schema of all fields, by name."""
    return {
        name: VolumeType(entry["x-mounts"], _with_key(entry), entry.get("x-object", ""), entry.get("x-instead"))
        for name, entry in fields["$defs"]["volume_types"].items()
    }


def _with_key(entry: _Schema) -> Mapping[str, str]:
    dependent = _spec(entry).get("dependentSchemas", {})
    return {key: schema["x-mounts"] for key, schema in dependent.items() if "x-mounts" in schema}


def _spec(entry: _Schema) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = entry.get("properties", {}).get("spec", {})
    return spec


def with_volume_types(fields: _Schema) -> _Schema:
    """The schema of all fields, with the types as options of `volume_type` and each type's checks.

    Raises ValueError for a type that does not declare what it mounts.
    """
    types: Mapping[str, _Schema] = fields["$defs"]["volume_types"]
    for name, entry in types.items():
        for mounted in (entry.get("x-mounts"), *_with_key(entry).values()):
            if mounted not in MOUNTS:
                words = ", ".join(f"`{word}`" for word in MOUNTS)
                raise ValueError(f"volume type `{name}` needs `x-mounts` with one of {words}, not {mounted!r}")
    volume = fields["$defs"]["volume"]
    properties = volume["properties"]
    spec_keys = {key: schema for entry in types.values() for key, schema in _spec(entry).get("properties", {}).items()}
    spec = {**properties["spec"], "properties": {**properties["spec"]["properties"], **spec_keys}}
    volume_type = {**properties["volume_type"], "enum": [*types]}
    checks = [
        {"if": {"properties": {"volume_type": {"const": name}}, "required": ["volume_type"]}, "then": entry}
        for name, entry in types.items()
    ]
    completed = {**volume, "properties": {**properties, "volume_type": volume_type, "spec": spec}, "allOf": checks}
    return {**fields, "$defs": {**fields["$defs"], "volume": completed}}
