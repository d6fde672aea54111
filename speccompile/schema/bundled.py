"""Files that ship with the package: schemas, templates, presets, codes, report assets, the starter project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from speccompile.model.light_namedtuple import NamedTuple

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from speccompile.model.diagnostic_codes import Code

_SCHEMA = ".schema.json"
_YAML = ".yaml"
_CODES = "model/diagnostic_codes.toml"
_FOREIGN_NAMES = "schema/foreign_names.yaml"
_PREBUILT = "compiler/rendering/prebuilt_skeletons.json"
_PACKAGE = Path(__file__).resolve().parent.parent


class Bundle(NamedTuple):
    """The texts of a library's files by name, each read on first use."""

    schemas: Mapping[str, str]
    templates: Mapping[str, str]
    presets: Mapping[str, str]
    prebuilt: str


def read_bundle() -> Bundle:
    """Find the schemas, templates and presets of this installation."""
    schemas, templates, presets = (_folder(name) for name in ("schemas", "templates", "presets"))
    return Bundle(
        _Files({"": schemas}, _SCHEMA),
        _Files({f"{target.name}/": target for target in _sorted_entries(templates) if target.is_dir()}),
        _Files({"": presets}, _YAML),
        _prebuilt_skeletons(),
    )


@cache
def preset_names() -> tuple[str, ...]:
    """The bundled platforms, which are chosen by name."""
    return tuple(_Files({"": _folder("presets")}, _YAML))


class _Files(Mapping[str, str]):
    """The texts of the files with one ending in some folders, by name, each read on first use."""

    def __init__(self, folders: Mapping[str, Traversable], ending: str = "") -> None:
        """`folders` has the prefix of names for each folder; the ending is left out of names."""
        self._folders, self._ending = folders, ending
        self._texts: dict[str, str] = {}

    @cached_property
    def _entries(self) -> dict[str, Traversable]:
        return {
            f"{prefix}{entry.name.removesuffix(self._ending)}": entry
            for prefix, folder in self._folders.items()
            for entry in _sorted_entries(folder)
            if entry.name.endswith(self._ending)
        }

    def __getitem__(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = self._entries[name].read_text(encoding="utf-8")
        return self._texts[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _sorted_entries(folder: Traversable) -> list[Traversable]:
    return sorted(folder.iterdir(), key=lambda entry: entry.name)


@cache
def bundled_codes() -> Mapping[str, Code]:
    """The diagnostic codes by name."""
    from speccompile.model.diagnostic_codes import read_codes

    return read_codes(_packaged(_CODES))


def foreign_names_text() -> str:
    """The text of the table of names that other tools use."""
    return _packaged(_FOREIGN_NAMES)


@cache
def asset(name: str) -> str:
    """The text of an asset of the report pages."""
    return _packaged(f"report/assets/{name}")


def _packaged(name: str) -> str:
    """The text of a file in the package itself."""
    file = _PACKAGE / name
    if file.is_file():
        return file.read_text(encoding="utf-8")
    return (_archive() / name).read_text(encoding="utf-8")


def _prebuilt_skeletons() -> str:
    """The text of the prebuilt skeletons; empty if it cannot be read, because they only make rendering faster."""
    try:
        return _packaged(_PREBUILT)
    except (OSError, ValueError):
        return ""


def starter_texts() -> dict[str, str]:
    """The files of a new project, by their paths in it."""
    return dict(sorted(_texts(_folder("starter"))))


def _texts(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _texts(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_YAML):
            yield f"{prefix}{entry.name}", entry.read_text(encoding="utf-8")


def _folder(name: str) -> Traversable:
    if (_PACKAGE / "_bundled" / name).is_dir():
        return _PACKAGE / "_bundled" / name
    # Without pyproject.toml this is a broken installation, beside which a `templates` folder belongs to something else.
    if (_PACKAGE.parent / "pyproject.toml").is_file() and (_PACKAGE.parent / name).is_dir():
        return _PACKAGE.parent / name
    packaged = _archive() / "_bundled" / name
    if packaged.is_dir():
        return packaged
    raise FileNotFoundError(f"this installation of speccompile has no `{name}` directory; reinstall it")


def _archive() -> Traversable:
    """The package when it is imported from a zip archive, where it has no paths."""
    from importlib.resources import files

    return files("speccompile")
