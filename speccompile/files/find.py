"""Find the files below a folder that match a pattern, in a fixed order."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from speccompile.model.light_namedtuple import NamedTuple

SUFFIXES = (".yaml", ".yml", ".json")
TEMPLATE_SUFFIX = ".j2"
TARGET_FILES = (TEMPLATE_SUFFIX, "target.yaml", "fields.schema.json")
"""Suffixes of all files that define a target."""
PROJECT_FILE = "speccompile.yaml"
"""The name of project files, which never count as runs or profiles."""
ANYTHING = ("**", "*")
"""The pattern of every file at any depth."""
MAX_ENTRIES = 100_000
"""Files and directories that one search lists, so that naming `/` is an error and takes no minutes."""
_FILE_KINDS: Sequence[tuple[Callable[[int], bool], str]] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISLNK, "a link"),
    (lambda _: True, "something other than a file"),
)
_TEMPLATES = ("*", "**", "*")
"""The pattern of templates: below the folder of a target."""

Identity: TypeAlias = tuple[int, int]
"""Device and inode."""


class TooManyEntriesError(OSError):
    """A search met more than MAX_ENTRIES files and directories."""


class Allowance:
    """How many more files and directories one or several searches may list."""

    def __init__(self) -> None:
        self.left = MAX_ENTRIES

    def spend(self, entries: int) -> None:
        """Raises TooManyEntriesError if there are too many."""
        self.left -= entries
        if self.left < 0:
            raise TooManyEntriesError(errno.EFBIG, f"more than {MAX_ENTRIES:,} files and directories to search")


class Unlisted(NamedTuple):
    """A directory without files to read: it cannot be listed, or, without an error, has none."""

    path: Path
    error: OSError | None = None


def is_too_many(entry: Path | Unlisted) -> bool:
    """Whether a search ended because of too many files."""
    return isinstance(entry, Unlisted) and isinstance(entry.error, TooManyEntriesError)


def template_files(folder: Path) -> tuple[Path | Unlisted, ...]:
    """The templates and other target files in the target folders of a folder."""
    return matching(folder, _TEMPLATES, suffixes=TARGET_FILES)


def matching(
    top: Path,
    steps: Sequence[str],
    skipped: frozenset[Identity] = frozenset(),
    suffixes: tuple[str, ...] = SUFFIXES,
    allowance: Allowance | None = None,
) -> tuple[Path | Unlisted, ...]:
    """Find files that match a pattern: those of a folder before those of its subfolders, sorted by name.

    Each step of the pattern is a name with `*`, `?` and `[…]`, or `**` for any number of folders. Wildcards skip
    hidden files, and `**` does not follow links, which could be circular. If there are too many files and folders, none
    is returned.
    """
    try:
        return tuple(_search(top, steps, skipped, suffixes, allowance or Allowance()))
    except TooManyEntriesError as error:
        return (Unlisted(top, error),)


def _search(
    top: Path, steps: Sequence[str], skipped: frozenset[Identity], suffixes: tuple[str, ...], allowance: Allowance
) -> Iterator[Path | Unlisted]:
    # All places in the pattern are tracked together, so that each folder is visited once, however many `**` there are.
    pending = [(top, _expand_stars({0}, steps))]
    while pending:
        folder, places = pending.pop()
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(
                    islice(scanned, max(0, allowance.left) + 1), key=lambda entry: entry.name, reverse=True
                )
        except OSError as error:
            yield Unlisted(folder, error)
            continue
        allowance.spend(len(entries))
        inner: list[tuple[Path, frozenset[int]]] = []
        while entries:
            # Popped, so that it is freed at once: an entry caches half a kilobyte of file status.
            entry = entries.pop()
            is_folder = _is_folder_entry(entry)
            further = _next_places(entry, places, steps) if is_folder else frozenset()
            is_match = not is_folder and entry.name.endswith(suffixes) and _is_match(entry.name, places, steps)
            if (further or is_match) and not (skipped and identity(entry) in skipped):
                if is_match:
                    yield folder / entry.name
                else:
                    inner.append((folder / entry.name, further))
        pending += reversed(inner)


def _expand_stars(places: Iterable[int], steps: Sequence[str]) -> frozenset[int]:
    """The places, and those after a `**`, which also matches no folder at all."""
    reached = set(places)
    for place in range(len(steps) - 1):
        if place in reached and steps[place] == "**":
            reached.add(place + 1)
    return frozenset(reached)


def _next_places(entry: os.DirEntry[str], places: Iterable[int], steps: Sequence[str]) -> frozenset[int]:
    """The places in the pattern that apply to the entries of this folder."""
    stays = not entry.name.startswith(".") and not entry.is_symlink()
    after = {place + 1 for place in places if place + 1 < len(steps) and _matches_step(entry.name, steps[place])}
    return _expand_stars(after | {place for place in places if stays and steps[place] == "**"}, steps)


def _is_match(name: str, places: Iterable[int], steps: Sequence[str]) -> bool:
    last = len(steps) - 1
    return last in places and name != PROJECT_FILE and _matches_step(name, steps[last])


def _matches_step(name: str, step: str) -> bool:
    is_visible = step.startswith(".") or not name.startswith(".")
    return step != "**" and is_visible and fnmatchcase(name, step)


def _is_folder_entry(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        # A broken link; reading it reports the error.
        return False


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        # Opening it reports the error.
        return False


def kind_of_file(mode: int) -> str:
    """What a path with this mode is, such as `a directory`."""
    return next(name for is_kind, name in _FILE_KINDS if is_kind(mode))


def identity(path: Path | os.DirEntry[str]) -> Identity | None:
    """Device and inode, which all names and links of a file share; None if there is no file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
