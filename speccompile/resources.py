"""Takes the files that ship with the package, gives them as the bundled Library."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from speccompile.library import Library, with_absolute_references

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

    from speccompile.codes import Code

_SCHEMA = ".schema.json"
_TEMPLATE = ".j2"
_YAML = ".yaml"
_CODES = "codes.toml"


@cache
def bundled_library() -> Library:
    """The schemas, templates and presets that came with this installation; read once."""
    schemas = {
        entry.name.removesuffix(_SCHEMA): with_absolute_references(
            entry.name.removesuffix(_SCHEMA), json.loads(entry.read_text(encoding="utf-8"))
        )
        for entry in sorted(_folder("schemas").iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(_SCHEMA)
    }
    templates = {
        f"{target.name}/{entry.name}": entry.read_text(encoding="utf-8")
        for target in sorted(_folder("templates").iterdir(), key=lambda entry: entry.name)
        if target.is_dir()
        for entry in sorted(target.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(_TEMPLATE)
    }
    presets = {
        entry.name.removesuffix(_YAML): entry.read_text(encoding="utf-8")
        for entry in sorted(_folder("presets").iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(_YAML)
    }
    return Library(schemas, templates, presets)


@cache
def bundled_codes() -> Mapping[str, Code]:
    """The diagnostic codes by name."""
    from speccompile.codes import read_codes  # wanted by whoever asks about codes, only

    return read_codes(_packaged(_CODES))


@cache
def asset(name: str) -> str:
    """The text of a part of the report page."""
    return _packaged(f"report/assets/{name}")


def _packaged(name: str) -> str:
    """The text of a file that stands in the package itself."""
    here = Path(__file__).resolve().parent / name
    if here.is_file():
        return here.read_text(encoding="utf-8")
    from importlib.resources import files  # an installation read from a zip archive

    return (files("speccompile") / name).read_text(encoding="utf-8")


def starter_texts() -> dict[str, str]:
    """The files that a new project starts with, by their paths in it."""
    return dict(sorted(_texts(_folder("starter"))))


def _texts(folder: Traversable, at: str = "") -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _texts(entry, f"{at}{entry.name}/")
        elif entry.name.endswith(_YAML):
            yield f"{at}{entry.name}", entry.read_text(encoding="utf-8")


def preset_names() -> tuple[str, ...]:
    """The platforms that ship with the package and can be chosen by name."""
    return tuple(bundled_library().presets)


def _folder(name: str) -> Traversable:
    here = Path(__file__).resolve().parent
    if (here / "_bundled" / name).is_dir():
        return here / "_bundled" / name
    # The test for pyproject.toml keeps a broken installation from picking up somebody else's `templates` folder.
    if (here.parent / "pyproject.toml").is_file() and (here.parent / name).is_dir():
        return here.parent / name
    # An installation read from a zip archive has no files of its own.
    from importlib.resources import files  # costs as much as all of pathlib

    packaged = files("speccompile") / "_bundled" / name
    if packaged.is_dir():
        return packaged
    raise FileNotFoundError(f"this installation of speccompile lacks its `{name}` folder; install it again")
