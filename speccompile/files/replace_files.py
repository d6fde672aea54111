"""Replace and remove files: all of them, or none.

New texts are staged under temporary names first. A file that is replaced keeps a second name until all are replaced, so
that undoing is renaming. If the process is killed, each file is old or new as a whole, and the next call removes the
temporary files.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain, takewhile
from pathlib import Path
from typing import Protocol

from speccompile.files.defer_interrupt import defer_signals
from speccompile.files.find import kind_of_file
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.terminal.display_width import printable

_BACKUP = ".old"
_TEMPORARY = rf"\.speccompile-([0-9]{{1,9}})-[0-9a-f]{{16}}-[0-9]+(?:{re.escape(_BACKUP)})?"
"""A temporary name, with the process that uses it."""


class Output(NamedTuple):
    """A text and its file, without trees, so that large batches fit into memory."""

    path: Path
    text: str
    sign: re.Pattern[str] | None = None
    """A pattern that earlier versions of the file match; without it, the label of generated manifests."""


class Outputs(Protocol):
    """Texts and their files, by number, that can be iterated repeatedly, such as a list."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Output]: ...
    def __getitem__(self, number: int, /) -> Output: ...


class Change(NamedTuple):
    """A file that was replaced, created or moved away, and where its previous version is; None if it is new."""

    file: str
    backup: str | None


class NotRestoredError(OSError):
    """Writing failed, and so did undoing it for some files."""

    changes: Sequence[Change] = ()


def write_failure(error: OSError, folder: Path | str, what: str = "nothing") -> str:
    """The message for an error of `replace_files`: nothing was written, or exactly these files changed."""
    reason = f"{error.strerror or error}: {printable(str(error.filename or folder))}\n"
    if not isinstance(error, NotRestoredError):
        return f"speccompile: {what} was written: {reason}"
    files = "".join(
        f"  {printable(f'{file} (previous version: {backup})' if backup else f'{file} (new)')}\n"
        for file, backup in error.changes
    )
    return f"speccompile: writing failed: {reason}these files changed and could not be restored:\n{files}"


def replace_files(outputs: Outputs, numbers: Sequence[int], root: Path, leftovers: Iterable[Path]) -> None:
    """Write the outputs with these numbers below the root, and remove the leftovers and folders that become empty.

    Raises OSError if that failed and nothing changed, NotRestoredError if something changed. Once the first file is
    replaced, Ctrl-C and SIGTERM take effect only after the last one.
    """
    prefix = f".speccompile-{os.getpid()}-{os.urandom(8).hex()}"
    # Strings take a third of the memory of paths.
    targets: list[str] = []
    created: list[Path] = []
    leftovers = tuple(leftovers)
    with ExitStack() as undo:
        undo.callback(lambda: _remove(_staged_names(targets, prefix), created))
        _stage(map(outputs.__getitem__, numbers), root, prefix, targets, created)
        with defer_signals():
            backups = _replace(targets, leftovers, root, prefix)
            undo.pop_all()
            _remove(backups, ())
            for file in leftovers:
                for folder in takewhile(lambda one: one != root, file.parents):
                    _remove_if_empty(folder)


def _staged_names(targets: Iterable[str], prefix: str) -> Iterator[str]:
    """The temporary names of new files: in the folder of the target, so that they are on its file system."""
    for number, target in enumerate(targets):
        yield _staged_name(target, prefix, number)


def _staged_name(target: str, prefix: str, number: int) -> str:
    return os.path.join(os.path.dirname(target), f"{prefix}-{number}")  # noqa: PTH118, PTH120


def _stage(outputs: Iterable[Output], root: Path, prefix: str, targets: list[str], created: list[Path]) -> None:
    """Write the texts to temporary files; files and folders are recorded before they exist, because of Ctrl-C."""
    permissions = 0o666 & ~_umask()
    existing: set[Path] = set()
    for number, (path, text, _) in enumerate(outputs):
        folder = (root / path).parent
        if folder not in existing:
            # Outermost first.
            created += reversed([one for one in (folder, *folder.parents) if not one.exists()])
            folder.mkdir(parents=True, exist_ok=True)
            existing.add(folder)
        targets.append(str(root / path))
        name = _staged_name(targets[-1], prefix, number)
        try:
            with open(name, "x", encoding="utf-8", newline="\n") as stream:  # noqa: PTH123
                stream.write(text)
            os.chmod(name, permissions)  # noqa: PTH101
        except OSError as error:
            # The temporary name means nothing to users.
            error.filename = targets[-1]
            raise


def _replace(targets: Sequence[str], leftovers: Iterable[Path], root: Path, prefix: str) -> Iterator[str]:
    """Move the leftovers away and the staged files to their places, and return the names of the backups.

    If that fails, everything is undone.
    """
    moved: list[Change] = []
    has_backup: list[bool] = []
    """One for each file that was replaced."""
    target = str(root)
    try:
        for number, file in enumerate(leftovers, len(targets)):
            target = str(file)
            moved.append(Change(target, _move_away(target, root, f"{prefix}-{number}")))
        for target, name in zip(targets, _staged_names(targets, prefix), strict=True):
            if target is targets[-1]:
                # After the last change, nothing is left that can fail.
                os.replace(name, target)  # noqa: PTH105
            else:
                _exchange(name, target, has_backup)
    except BaseException as error:
        if isinstance(error, OSError):
            error.filename = target
        if changes := [change for change in (*moved, *_changes(targets, prefix, has_backup)) if not _is_undone(change)]:
            raise _not_restored(error, changes) from error
        raise
    return (change.backup for change in chain(moved, _changes(targets, prefix, has_backup)) if change.backup)


def _changes(targets: Iterable[str], prefix: str, has_backup: Iterable[bool]) -> Iterator[Change]:
    """The files that were replaced, and their backups."""
    for target, name, is_old in zip(targets, _staged_names(targets, prefix), has_backup, strict=False):
        yield Change(target, f"{name}{_BACKUP}" if is_old else None)


def _move_away(file: str, root: Path, name: str) -> str:
    """Rename a file to a temporary name in the root, where the next call looks first, or else in its own folder."""
    backup = str(root / name)
    try:
        os.replace(file, backup)  # noqa: PTH105
    except OSError:
        # Its folder may be on another file system.
        backup = str(Path(file).with_name(name))
        os.replace(file, backup)  # noqa: PTH105
    return backup


def _exchange(staged: str, target: str, has_backup: list[bool]) -> None:
    """Move a staged file to its place, and record whether its backup has the previous version.

    It replaces a link instead of following it.
    """
    backup = f"{staged}{_BACKUP}"
    try:
        os.link(target, backup, follow_symlinks=False)
    except FileNotFoundError:
        os.replace(staged, target)  # noqa: PTH105
        has_backup.append(False)
        return
    except (OSError, NotImplementedError):
        # Some file systems have no hard links. A directory, which has none either, must stay where it is.
        mode = os.lstat(target).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
            raise obstacle(mode, Path(target)) from None
        os.replace(target, backup)  # noqa: PTH105
        has_backup.append(True)
        os.replace(staged, target)  # noqa: PTH105
        return
    try:
        os.replace(staged, target)  # noqa: PTH105
    except OSError:
        _remove((backup,), ())
        raise
    has_backup.append(True)


def _is_undone(change: Change) -> bool:
    """Undo a change, and return whether that succeeded."""
    try:
        if change.backup is None:
            Path(change.file).unlink(missing_ok=True)
        else:
            os.replace(change.backup, change.file)  # noqa: PTH105
    except OSError:
        return False
    return True


def _not_restored(error: BaseException, changes: Sequence[Change]) -> NotRestoredError:
    reason = error if isinstance(error, OSError) else OSError(0, str(error) or type(error).__name__)
    failure = NotRestoredError(reason.errno, reason.strerror, reason.filename)
    failure.changes = changes
    return failure


def remove_stale(folder: Path, *, below: bool) -> None:
    """Remove the temporary files of killed processes in the folder and, with `below`, in its direct subfolders."""
    stale: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if below and entry.is_dir(follow_symlinks=False):
                remove_stale(Path(entry.path), below=False)
                continue
            match = re.fullmatch(_TEMPORARY, entry.name)
            # The backup of a link is a link.
            if match and (entry.is_file(follow_symlinks=False) or entry.is_symlink()):
                stale += () if _is_running(int(match[1])) else (entry.path,)
    _remove(stale, ())


def _is_running(process: int) -> bool:
    """Whether another process has this number; in containers, a later call often has the number of an earlier one."""
    if process == os.getpid():
        return False
    if os.name == "nt":
        # There, sending a signal ends the process.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It belongs to another user.
        return True
    return True


def mode_of(path: Path, *, follow: bool = True) -> int | None:
    """The mode of the file at the path; None if there is none."""
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except FileNotFoundError:
        return None


def obstacle(mode: int, path: Path) -> OSError:
    """The error for a path at which there is something other than a file."""
    return FileExistsError(17, f"{kind_of_file(mode)} is in the way", str(path))


def _remove(files: Iterable[str], folders: Sequence[Path]) -> None:
    """Remove temporary files and empty folders; what cannot be removed stays, and the next call tries again."""
    for file in files:
        with suppress(OSError):
            os.unlink(file)  # noqa: PTH108
    for folder in reversed(folders):
        _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
