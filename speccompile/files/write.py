"""Write texts to a stream or below a folder: all of them, or none."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Protocol, TextIO

from speccompile.compiler.duplicate_objects import HashIndex
from speccompile.files.call_inputs import STREAM
from speccompile.files.defer_interrupt import deaf
from speccompile.files.find import PROJECT_FILE, SUFFIXES
from speccompile.integrations import kustomization
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.object_names import object_name
from speccompile.terminal.display_width import printable

DONE, FAILED = 0, 1
_HEAD = re.compile(r'.*?\n *"?name"?: [^\n]*', re.DOTALL)
"""The beginning of manifests up to the first name, which says what the first object is."""
_FAR = 2 * 1024 * 1024
"""How many bytes of a file may stand before our sign.

The label is in the metadata of the first manifest, but a base document can put annotations before it. No object that
Kubernetes can store is larger than this (etcd takes 1.5 MiB), so it is found wherever it stands; and a file of somebody
else, however large, costs no more than this to look at.
"""
_RESERVED = (PROJECT_FILE, kustomization.FILE)
_KINDS: Sequence[tuple[Callable[[int], bool], str]] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISLNK, "a link"),
    (lambda _: True, "what is no file"),
)


_SUFFIXES: Mapping[str, str] = {"yaml": "yaml", "json": "json", "helm": "yaml"}
"""The ending of files of manifests, by shape."""


class Output(NamedTuple):
    """A text and the file it belongs into; trees are let go, so that large batches fit into memory."""

    path: Path
    text: str
    sign: re.Pattern[str] | None = None
    """What a file has that such a text was written to before; without it, the sign that manifests have."""


class Outputs(Protocol):
    """Texts and their files, by number, which can be gone through more than once; a list will do."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Output]: ...
    def __getitem__(self, number: int, /) -> Output: ...


def path_of(project: str, name: str, shape: str) -> Path:
    """The file of a run, as seen from the folder of them all; no run takes the place of a file that means more."""
    folder = Path() if project == "default" else Path(object_name(project))
    stem, suffix = object_name(name), _SUFFIXES[shape]
    # No name of an object holds the sign, so that no other run is called like that.
    return folder / (f"{stem}_.{suffix}" if f"{stem}.{suffix}" in _RESERVED else f"{stem}.{suffix}")


def listing(files: Iterable[Path], folder: Path, *, is_whole: bool) -> Output:
    """The kustomization.yaml that lists the files; where they are not all there are, those it lists already stay.

    It replaces a list that we wrote, and nobody wrote into. Raises OSError if another list is beside it.
    """
    target = folder / kustomization.FILE
    other = next((folder / name for name in kustomization.OTHER_FILES if (folder / name).exists()), None)
    if other is not None:
        raise FileExistsError(17, "Kustomize would find two lists: make this one an overlay", str(other))
    listed = kustomization.listed(read_text(target) or "")
    others = () if is_whole else (name for name in listed if (folder / name).exists())
    text = kustomization.kustomization({*(file.as_posix() for file in files), *others})
    untouched = re.compile(rf"\A{re.escape(kustomization.kustomization(listed))}\Z")
    return Output(Path(kustomization.FILE), text, sign=untouched)


class WriteCounts(NamedTuple):
    """How many files were written, and how many had their text already."""

    written: int
    unchanged: int


def is_file_name(target: Path | str) -> bool:
    """Whether an output is one file and not a folder: by its suffix, unless a folder of that name exists."""
    name = str(target)
    return name.endswith(SUFFIXES) and not os.path.isdir(name)  # noqa: PTH112


def write(
    outputs: Outputs, target: Path | str | None, inputs: Sequence[Path], stdout: TextIO, *, shape: str
) -> WriteCounts | None:
    """Print all texts, write them below a folder, or write what would be printed to one file.

    None if they were printed. Raises OSError if nothing was written.
    """
    if target is None or target == STREAM:
        _print(outputs, stdout, shape)
        return None
    root = Path(target)
    if is_file_name(target):
        with StringIO() as stream:
            _print(outputs, stream, shape)
            outputs = [Output(Path(root.name), stream.getvalue())]
        root = root.parent
    written = len(_written(outputs, root, inputs, ()))
    return WriteCounts(written, len(outputs) - written)


def nothing_written(error: OSError, folder: Path | str) -> str:
    where = printable(str(error.filename or folder))
    return f"speccompile: nothing was written: {error.strerror or error}: {where}\n"


def _print(outputs: Outputs, stdout: TextIO, shape: str) -> None:
    if shape != "json":
        between = ""
        for output in outputs:
            stdout.write(between + output.text)
            between = "---\n"
        return
    from speccompile.yaml_text.serialize import serialize_json

    if not len(outputs):
        stdout.write(serialize_json(()))
        return
    head, tail = serialize_json([{}]).split("    {}")
    # Each text is a list of its own, laid out like the one of them all.
    for number, output in enumerate(outputs):
        items = output.text[len(head) : -len(tail)]
        stdout.write(f",\n{items}" if number else f"{head}{items}")
    stdout.write(tail)


def write_files(
    outputs: Outputs, root: Path, inputs: Iterable[Path] = (), leftovers: Iterable[Path] = ()
) -> tuple[Path, ...]:
    """Each text in its file below the root; files appear whole, and only once all of them are on disk.

    Nothing is made before everything has been looked at, and if something fails all the same, no trace is left.
    A file is ours, and replaced, if it has the sign of its text. A file that has the very text is not touched; gives
    the others. Files that are left over are gone afterwards, and so are folders that this empties.
    """
    return tuple(root / outputs[number].path for number in _written(outputs, root, inputs, leftovers))


def _written(outputs: Outputs, root: Path, inputs: Iterable[Path], leftovers: Iterable[Path]) -> Sequence[int]:
    """As `write_files`; gives the numbers of those that were written."""
    stale = _stale(outputs, root, inputs)
    staged: list[str] = []
    made: list[Path] = []
    known: set[Path] = set()
    rights = 0o666 & ~_umask()
    with ExitStack() as undo:
        undo.callback(_remove, staged, made)
        for number in stale:
            path, text, _ = outputs[number]
            folder = (root / path).parent
            if folder not in known:
                made += _missing(folder)
                folder.mkdir(parents=True, exist_ok=True)
                known.add(folder)
            # Known before it is there: Ctrl-C can come at any time. As texts, so many names take a third of the memory.
            staged.append(_beside(folder))
            with open(staged[-1], "x", encoding="utf-8", newline="\n") as stream:  # noqa: PTH123
                stream.write(text)
            os.chmod(staged[-1], rights)  # noqa: PTH101
        # Set aside, they can be put back as long as anything can fail.
        aside: dict[Path, Path] = {}
        for file in leftovers:
            with deaf():
                aside[file] = file.replace(_beside(file.parent))
                undo.callback(aside[file].replace, file)
        with deaf():
            for number, name in zip(stale, staged, strict=True):
                # Replaces a link instead of following it.
                os.replace(name, root / outputs[number].path)  # noqa: PTH105
            undo.pop_all()
    for file, hidden in aside.items():
        hidden.unlink()
        for folder in takewhile(lambda one: one != root, file.parents):
            _remove_if_empty(folder)
    return stale


def _beside(folder: Path) -> str:
    """A name in the folder that nothing has."""
    return str(folder / f".speccompile-{os.urandom(8).hex()}")


def _stale(outputs: Outputs, root: Path, inputs: Iterable[Path]) -> list[int]:
    """The numbers of texts that are not in their files yet. Raises OSError if one cannot be written there."""
    seen = HashIndex()
    known: set[str] | None = None
    checked: set[Path] = set()
    stale: list[int] = []
    for number, output in enumerate(outputs):
        target = root / output.path
        if target.parent not in checked:
            _check_folders(root, target.parent)
            checked.add(target.parent)
        has_it = False
        if os.path.lexists(target):
            known = known or {os.path.realpath(path) for path in inputs}
            has_it = _check_target(target, known, output)
        held = seen.settle(hash(output.path), number)
        if held is not None and outputs[held].path == output.path:
            raise FileExistsError(17, "two texts would be written to one file", str(target))
        if not has_it:
            stale.append(number)
    return stale


def _remove(files: Iterable[str], folders: Sequence[Path]) -> None:
    for file in files:
        Path(file).unlink(missing_ok=True)
    for folder in reversed(folders):
        _remove_if_empty(folder)


def read_text(target: Path) -> str | None:
    """What stands in a file of text, as much as we would write; None if there is none.

    Raises OSError for what cannot be read, or is no file. A link is none: nobody knows where it leads.
    """
    mode = mode_of(target, follow=False)
    if mode is None:
        return None
    if not stat.S_ISREG(mode):
        raise in_the_way(mode, target)
    with target.open("rb") as stream:
        return stream.read(_FAR).decode("utf-8", errors="replace")


def has_text(target: Path, text: str) -> bool:
    """Whether a file, and no link to one, has the text already."""
    mode = mode_of(target, follow=False)
    data = text.encode()
    is_alike = mode is not None and stat.S_ISREG(mode) and target.stat().st_size == len(data)
    return is_alike and target.read_bytes() == data


def _check_folders(root: Path, folder: Path) -> None:
    """Raises if the folder is not there and cannot be made below the root, or leads out of it."""
    if folder != root and folder.is_symlink():
        raise OSError(40, "a link leads out of the output folder", str(folder))
    for one in (root, folder):
        mode = mode_of(one)
        if mode is not None and not stat.S_ISDIR(mode):
            raise NotADirectoryError(20, "what stands there is no folder", str(one))


def _check_target(target: Path, known: set[str], output: Output) -> bool:
    """Whether the target has the text already.

    Raises if something is lost when it is replaced: unless it is not there, a link, empty, or made by us.
    """
    mode = mode_of(target, follow=False)
    is_plain = mode is not None and stat.S_ISREG(mode)
    is_input = os.path.realpath(target) in known
    if is_plain and not is_input and has_text(target, output.text):
        return True
    if is_input or (is_plain and not _is_ours(target, output)):
        raise FileExistsError(17, "a file that speccompile did not write stands in the way", str(target))
    if mode is not None and not is_plain and not stat.S_ISLNK(mode):
        raise in_the_way(mode, target)
    return False


def _is_ours(target: Path, output: Output) -> bool:
    """Whether the file is empty, or has the sign of the text."""
    with target.open("rb") as stream:
        start = stream.read(_FAR).decode("utf-8", errors="replace")
    return not start or any(sign.search(start) for sign in ((output.sign,) if output.sign else _signs(output.text)))


def _signs(text: str) -> Iterator[re.Pattern[str]]:
    """What a file has, one of these, that such manifests were written to: the label that says who manages them.

    No run can set it, and a platform can give it another value, or none; then the first object must be the same.
    """
    manager = _labels(r'([^\s",]+)').search(text)
    head = _HEAD.match(text)
    first = rf"\A{re.escape(head[0] if head else text)}\n"
    if manager is None:
        yield re.compile(first)
        return
    yield _labels(rf"(?:speccompile|{re.escape(manager[1] or manager[2])})")
    # The platform may have called the manager by another name.
    yield re.compile(rf"{first}[\s\S]*?(?:{_labelled('')})", re.MULTILINE)


@lru_cache(maxsize=8)
def _labels(manager: str) -> re.Pattern[str]:
    return re.compile(_labelled(manager), re.MULTILINE)


def _labelled(manager: str) -> str:
    """A pattern for the label of a manager, or of any, in the metadata of an object, as we write YAML and JSON."""
    label = r'"?app\.kubernetes\.io/managed-by"?: ' + (rf'"?{manager}"?(?=[\s,])' if manager else "")
    in_yaml = rf"^  labels:\r?\n(?:    [^\n]*\n)*?    {label}"
    in_json = rf'"labels": \{{[^{{}}]*{label}'
    return f"{in_yaml}|{in_json}"


def mode_of(path: Path, *, follow: bool = True) -> int | None:
    """What kind of thing is at the path; nothing is None."""
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except FileNotFoundError:
        return None


def in_the_way(mode: int, path: Path) -> OSError:
    """The error of a path that something other than a file occupies."""
    what = next(name for is_kind, name in _KINDS if is_kind(mode))
    return FileExistsError(17, f"{what} stands in the way", str(path))


def _missing(folder: Path) -> Iterator[Path]:
    """The folders that are not there yet, outermost first."""
    return reversed([one for one in (folder, *folder.parents) if not one.exists()])


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
