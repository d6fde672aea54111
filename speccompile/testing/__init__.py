"""Property tests for an admin's profiles and platform (`speccompile[testing]`). Imports everything but `cli`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from speccompile.testing.admin import Admin
    from speccompile.testing.hostile_runs import attempts
    from speccompile.testing.properties.table import PROPERTIES, Property
    from speccompile.testing.suite import AdminProperties

__all__ = ["PROPERTIES", "Admin", "AdminProperties", "Property", "attempts"]

_HOMES = {
    "PROPERTIES": "properties.table",
    "Admin": "admin",
    "AdminProperties": "suite",
    "Property": "properties.table",
    "attempts": "hostile_runs",
}


def __getattr__(name: str) -> Any:
    # pytest imports this package with the plugin, in projects that may never use it, and must not pay for the laws.
    if name not in _HOMES:
        raise AttributeError(f"module 'speccompile.testing' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"speccompile.testing.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
