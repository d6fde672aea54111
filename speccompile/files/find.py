"""Files below a folder that match a pattern, always in the same order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

from speccompile.model.light_namedtuple import NamedTuple

SUFFIXES = (".yaml", ".yml", ".json")
TEMPLATE_SUFFIX = ".j2"
TARGET_FILES = (TEMPLATE_SUFFIX, "target.yaml", "fields.schema.json")
"""How the names of all files end that make a target."""
PROJECT_FILE = "speccompile.yaml"
"""The name of project files, which are neither runs nor profiles wherever they are come across."""
ANYTHING = ("**", "*")
"""The pattern of every file at any depth."""
_TEMPLATES = ("*", "**", "*")
"""The pattern of templates: below the folder of a target."""

Identity: TypeAlias = tuple[int, int]
"""What two names of one file have in common."""


class Unlisted(NamedTuple):
    """A directory whose files cannot be told, and why; no error means that it holds none."""

    path: Path
    error: OSError | None = None


def template_files(folder: Path) -> Iterator[Path | Unlisted]:
    """The templates in the target folders of a folder, and what else makes a target."""
    return matching(folder, _TEMPLATES, suffixes=TARGET_FILES)


def matching(
    top: Path,
    steps: Sequence[str],
    passed_over: frozenset[Identity] = frozenset(),
    suffixes: tuple[str, ...] = SUFFIXES,
) -> Iterator[Path | Unlisted]:
    """The files of a folder before those of its subfolders, each by name.

    Each step of the pattern is a name with `*`, `?` and `[…]`, or `**` for any number of folders. Wildcards find
    nothing hidden, and `**` follows no link, so that it cannot run in circles.
    """
    # Following all places of the pattern at once visits each folder once, however many `**` there are.
    pending = [(top, _reached({0}, steps))]
    while pending:
        folder, places = pending.pop()
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            yield Unlisted(folder, error)
            continue
        inner: list[tuple[Path, frozenset[int]]] = []
        while entries:
            # Each is let go at once: it remembers all that it was asked, half a kilobyte.
            entry = entries.pop()
            is_folder = _is_folder_entry(entry)
            further = _further(entry, places, steps) if is_folder else frozenset()
            found = not is_folder and entry.name.endswith(suffixes) and _is_match(entry.name, places, steps)
            if (further or found) and not (passed_over and identity(entry) in passed_over):
                if found:
                    yield folder / entry.name
                else:
                    inner.append((folder / entry.name, further))
        pending += reversed(inner)


def _reached(places: Iterable[int], steps: Sequence[str]) -> frozenset[int]:
    """The places, and those behind a `**`, which may stand for no folder at all."""
    reached = set(places)
    for place in range(len(steps) - 1):
        if place in reached and steps[place] == "**":
            reached.add(place + 1)
    return frozenset(reached)


def _further(entry: os.DirEntry[str], places: Iterable[int], steps: Sequence[str]) -> frozenset[int]:
    """The places of the pattern at which the entries of this folder stand."""
    stays = not entry.name.startswith(".") and not entry.is_symlink()
    behind = {place + 1 for place in places if place + 1 < len(steps) and _fits(entry.name, steps[place])}
    return _reached(behind | {place for place in places if stays and steps[place] == "**"}, steps)


def _is_match(name: str, places: Iterable[int], steps: Sequence[str]) -> bool:
    last = len(steps) - 1
    return last in places and name != PROJECT_FILE and _fits(name, steps[last])


def _fits(name: str, step: str) -> bool:
    shows = step.startswith(".") or not name.startswith(".")
    return step != "**" and shows and fnmatchcase(name, step)


def _is_folder_entry(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        # A link that leads nowhere; reading it will tell.
        return False


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        # Whatever is wrong with the name, opening it will tell.
        return False


def identity(path: Path | os.DirEntry[str]) -> Identity | None:
    """The same for all names and links of one file; None where there is no file."""
    try:
        told = path.stat()
    except (OSError, ValueError):
        return None
    return told.st_dev, told.st_ino
