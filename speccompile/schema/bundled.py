"""Takes the files that ship with the package, gives them as the bundled Library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from speccompile.schema.library import Library, Schemas, Template, with_templates

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from speccompile.model.diagnostic_codes import Code

_SCHEMA = ".schema.json"
_YAML = ".yaml"
_CODES = "model/diagnostic_codes.toml"
_PREPARED = "compiler/rendering/prebuilt_skeletons.json"
_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def bundled_library() -> Library:
    """The schemas, templates and presets that came with this installation; each is read once, when it is needed."""
    schemas, templates, presets = (_folder(name) for name in ("schemas", "templates", "presets"))
    return Library(
        Schemas(_Files({"": schemas}, _SCHEMA)),
        _Files({f"{target.name}/": target for target in _in_order(templates) if target.is_dir()}),
        _Files({"": presets}, _YAML),
        _packaged(_PREPARED),
    )


@lru_cache(maxsize=4)
def library_of(templates: tuple[Template, ...]) -> Library:
    """The bundled library with the templates of an admin; one for equal ones, so that what it keeps is found again."""
    return with_templates(bundled_library(), templates) if templates else bundled_library()


class _Files(Mapping[str, str]):
    """The texts of the files in some folders that end alike, by name, each read when first asked for."""

    def __init__(self, folders: Mapping[str, Traversable], ending: str = "") -> None:
        """A name is that of the file, behind what its folder is called, without the ending."""
        self._folders, self._ending = folders, ending
        self._texts: dict[str, str] = {}

    @cached_property
    def _entries(self) -> dict[str, Traversable]:
        return {
            f"{called}{entry.name.removesuffix(self._ending)}": entry
            for called, folder in self._folders.items()
            for entry in _in_order(folder)
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


def _in_order(folder: Traversable) -> list[Traversable]:
    return sorted(folder.iterdir(), key=lambda entry: entry.name)


@cache
def bundled_codes() -> Mapping[str, Code]:
    """The diagnostic codes by name."""
    from speccompile.model.diagnostic_codes import read_codes  # wanted by whoever asks about codes, only

    return read_codes(_packaged(_CODES))


@cache
def asset(name: str) -> str:
    """The text of a part of the report page."""
    return _packaged(f"report/assets/{name}")


def _packaged(name: str) -> str:
    """The text of a file that stands in the package itself."""
    file = _PACKAGE / name
    if file.is_file():
        return file.read_text(encoding="utf-8")
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
    if (_PACKAGE / "_bundled" / name).is_dir():
        return _PACKAGE / "_bundled" / name
    # The test for pyproject.toml keeps a broken installation from picking up somebody else's `templates` folder.
    if (_PACKAGE.parent / "pyproject.toml").is_file() and (_PACKAGE.parent / name).is_dir():
        return _PACKAGE.parent / name
    # An installation read from a zip archive has no files of its own.
    from importlib.resources import files  # costs as much as all of pathlib

    packaged = files("speccompile") / "_bundled" / name
    if packaged.is_dir():
        return packaged
    raise FileNotFoundError(f"this installation of speccompile lacks its `{name}` folder; install it again")
