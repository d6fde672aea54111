"""The same profiles and platform written in another way."""

from __future__ import annotations

from speccompile.admin.flatten_profile import flattened as without_parents
from speccompile.testing.admin import Admin, Data

_AGAIN = "speccompile-again"


def twice(admin: Admin, profile: str) -> Admin:
    """The profile as a child of itself: the parent says it all, and the child says its own part again."""
    (file,) = (file for file in admin.files if _own(file, profile))
    parent = tuple({**data, "id": _AGAIN} if "kind" not in data else data for data in file)
    child = tuple({**data, "extends": [_AGAIN]} if "kind" not in data else data for data in file)
    return admin.with_profile(profile, parent, child)


def flattened(admin: Admin, profile: str) -> Admin:
    """The profile without parents, saying itself what they say."""
    return admin.with_profile(profile, without_parents(admin.setting.profiles[profile]))


def reordered(admin: Admin) -> Admin:
    """The files, and the documents of each, the other way round."""
    return Admin(tuple(tuple(reversed(file)) for file in reversed(admin.files)), admin.platform)


def _own(file: tuple[Data, ...], profile: str) -> bool:
    return any("kind" not in data and data.get("id") == profile for data in file)
