"""Profiles and platforms that are equivalent to given ones."""

from __future__ import annotations

from speccompile.admin.flatten_profile import flat_documents
from speccompile.testing.admin import AdminConfig

_PARENT_ID = "speccompile-again"


def with_profile_twice(admin: AdminConfig, profile: str) -> AdminConfig:
    """The profile as a child of a copy of itself."""
    (file,) = (file for file in admin.files if any("kind" not in data and data.get("id") == profile for data in file))
    parent = tuple({**data, "id": _PARENT_ID} if "kind" not in data else data for data in file)
    child = tuple({**data, "extends": [_PARENT_ID]} if "kind" not in data else data for data in file)
    return admin.with_profile(profile, parent, child)


def with_flat_profile(admin: AdminConfig, profile: str) -> AdminConfig:
    """The profile merged with its parents."""
    return admin.with_profile(profile, flat_documents(admin.setting.profiles[profile]))


def with_reversed_files(admin: AdminConfig) -> AdminConfig:
    """The files, and the documents in each, in reverse order."""
    return AdminConfig(tuple(tuple(reversed(file)) for file in reversed(admin.files)), admin.platform)
