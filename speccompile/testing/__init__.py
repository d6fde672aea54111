"""Property tests for profiles and a platform file (`speccompile[testing]`). Imports everything but `cli`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from speccompile.testing.admin import AdminConfig
    from speccompile.testing.hostile_runs import attempts
    from speccompile.testing.properties.table import PROPERTIES, Property
    from speccompile.testing.suite import AdminProperties

__all__ = ["PROPERTIES", "AdminConfig", "AdminProperties", "Property", "attempts"]

_MODULES = {
    "PROPERTIES": "properties.table",
    "AdminConfig": "admin",
    "AdminProperties": "suite",
    "Property": "properties.table",
    "attempts": "hostile_runs",
}


def __getattr__(name: str) -> Any:
    # pytest imports this package with the plugin, even in projects that do not use it, so imports are lazy.
    if name not in _MODULES:
        raise AttributeError(f"module 'speccompile.testing' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"speccompile.testing.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
