"""Write texts to a stream, to files below a folder, or to one file: all of them, or none."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import TextIO

from speccompile.compiler.duplicate_objects import HashIndex
from speccompile.files.find import PROJECT_FILE, SUFFIXES
from speccompile.files.replace_files import Output, Outputs, mode_of, obstacle, remove_stale, replace_files
from speccompile.integrations import kustomization
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.object_names import object_name

DONE, FAILED = 0, 1
_FIRST_OBJECT = r'(?s).*?\n *"?name"?: [^\n]*'
"""The beginning of manifests up to the first name, which identifies the first object."""
_MAX_SCANNED = 2 * 1024 * 1024
"""Bytes of a file that are searched for the label of generated manifests.

The label is in the metadata of the first manifest, possibly after long annotations from a base document. Kubernetes
stores no larger object (etcd accepts 1.5 MiB), so the label is always found, and other files cost no more than this.
"""
_RESERVED = (PROJECT_FILE, kustomization.FILE)
_SUFFIXES: Mapping[str, str] = {"yaml": "yaml", "json": "json", "helm": "yaml"}
"""The suffix of manifest files, by shape."""


def manifest_path(project: str, name: str, shape: str) -> Path:
    """The manifest file of a run, relative to the output folder; never a project file or a kustomization."""
    folder = Path() if project == "default" else Path(object_name(project))
    stem, suffix = object_name(name), _SUFFIXES[shape]
    # Names of objects have no underscore, so that no other run has this file.
    return folder / (f"{stem}_.{suffix}" if f"{stem}.{suffix}" in _RESERVED else f"{stem}.{suffix}")


def kustomization_output(files: Iterable[Path], folder: Path, *, is_whole: bool) -> Output:
    """The kustomization.yaml that lists the files; unless they are all, existing entries are kept.

    It replaces a generated one that nobody edited. Raises OSError if there is another file for Kustomize.
    """
    target = folder / kustomization.FILE
    other = next((folder / name for name in kustomization.OTHER_FILES if (folder / name).exists()), None)
    if other is not None:
        raise FileExistsError(
            17, "Kustomize refuses two such files in a directory: make this one an overlay", str(other)
        )
    listed = kustomization.listed_files(read_text(target) or "")
    others = () if is_whole else (name for name in listed if (folder / name).exists())
    text = kustomization.kustomization({*(file.as_posix() for file in files), *others})
    unedited = re.compile(rf"\A{re.escape(kustomization.kustomization(listed))}\Z")
    return Output(Path(kustomization.FILE), text, sign=unedited)


class WriteCounts(NamedTuple):
    """How many files were written, and how many had their text already."""

    written: int
    unchanged: int


def is_file_name(target: Path | str) -> bool:
    """Whether an output is one file and not a folder: by its suffix, unless a folder of that name exists."""
    name = str(target)
    return name.endswith(SUFFIXES) and not os.path.isdir(name)  # noqa: PTH112


def write(outputs: Outputs, target: Path | str, inputs: Sequence[Path], *, shape: str) -> WriteCounts:
    """Write the texts below a folder, or what would be printed to one file. Raises OSError; see `replace_files`."""
    root = Path(target)
    if is_file_name(target):
        with StringIO() as stream:
            print_texts((output.text for output in outputs), stream, shape)
            is_changed = write_file(Output(Path(root.name), stream.getvalue()), root.parent, inputs)
        return WriteCounts(int(is_changed), int(not is_changed))
    written = len(_write_changed(outputs, root, inputs, ()))
    return WriteCounts(written, len(outputs) - written)


def write_file(output: Output, folder: Path, inputs: Iterable[Path]) -> bool:
    """Like `write_files` for one file in the folder; return whether it changed."""
    remove_stale(folder, below=False)
    changed = _changed_outputs([output], folder, inputs)
    replace_files([output], changed, folder, ())
    return bool(changed)


def print_texts(texts: Iterable[str], stdout: TextIO, shape: str) -> None:
    """Print the manifests of all runs as one stream."""
    if shape != "json":
        between = ""
        for text in texts:
            stdout.write(between + text)
            between = "---\n"
        return
    from speccompile.yaml_text.serialize import serialize_json

    head, tail = serialize_json([{}]).split("    {}")
    number = 0
    # Each text is a List; the items of all are joined into one.
    for number, text in enumerate(texts, start=1):
        items = text[len(head) : -len(tail)]
        stdout.write(f",\n{items}" if number > 1 else f"{head}{items}")
    stdout.write(tail if number else serialize_json(()))


def write_files(
    outputs: Outputs, root: Path, inputs: Iterable[Path] = (), leftovers: Iterable[Path] = ()
) -> tuple[Path, ...]:
    """Write each text to its file below the root, remove the leftovers, and return the files that changed.

    Everything is checked first. Only files that match the sign of their text are replaced, and files with the same text
    are not touched. Raises OSError; see `replace_files`.
    """
    return tuple(root / outputs[number].path for number in _write_changed(outputs, root, inputs, leftovers))


def _write_changed(outputs: Outputs, root: Path, inputs: Iterable[Path], leftovers: Iterable[Path]) -> Sequence[int]:
    """Like `write_files`, but return the numbers of the outputs that changed."""
    remove_stale(root, below=True)
    changed = _changed_outputs(outputs, root, inputs)
    replace_files(outputs, changed, root, leftovers)
    return changed


def _changed_outputs(outputs: Outputs, root: Path, inputs: Iterable[Path]) -> list[int]:
    """The numbers of the outputs whose files have another text. Raises OSError if one cannot be written."""
    seen = HashIndex()
    input_paths: set[str] | None = None
    checked: set[Path] = set()
    changed: list[int] = []
    for number, output in enumerate(outputs):
        target = root / output.path
        if target.parent not in checked:
            _check_folders(root, target.parent)
            checked.add(target.parent)
        is_unchanged = False
        if os.path.lexists(target):
            input_paths = input_paths or {os.path.realpath(path) for path in inputs}
            is_unchanged = _check_target(target, input_paths, output)
        earlier = seen.settle(hash(output.path), number)
        if earlier is not None and outputs[earlier].path == output.path:
            raise FileExistsError(17, "two runs have the same manifest file", str(target))
        if not is_unchanged:
            changed.append(number)
    return changed


def read_text(target: Path) -> str | None:
    """The beginning of a text file; None if it does not exist.

    Raises OSError if it cannot be read or is not a file; a link is not a file.
    """
    mode = mode_of(target, follow=False)
    if mode is None:
        return None
    if not stat.S_ISREG(mode):
        raise obstacle(mode, target)
    with target.open("rb") as stream:
        return stream.read(_MAX_SCANNED).decode("utf-8", errors="replace")


def has_text(target: Path, text: str) -> bool:
    """Whether a file, and not a link to one, has the text."""
    mode = mode_of(target, follow=False)
    data = text.encode()
    has_size = mode is not None and stat.S_ISREG(mode) and target.stat().st_size == len(data)
    return has_size and target.read_bytes() == data


def _check_folders(root: Path, folder: Path) -> None:
    """Raises OSError if the folder is a link, or if it or the root is not a folder."""
    if folder != root and folder.is_symlink():
        raise OSError(40, "a link in the output directory may point outside it", str(folder))
    for one in (root, folder):
        mode = mode_of(one)
        if mode is not None and not stat.S_ISDIR(mode):
            raise NotADirectoryError(20, "not a directory", str(one))


def _check_target(target: Path, input_paths: set[str], output: Output) -> bool:
    """Whether the target has the text already.

    Raises OSError if replacing it would lose data: it must be a link, empty, or generated.
    """
    mode = mode_of(target, follow=False)
    is_plain = mode is not None and stat.S_ISREG(mode)
    is_input = os.path.realpath(target) in input_paths
    if is_plain and not is_input and has_text(target, output.text):
        return True
    if is_input or (is_plain and not _is_replaceable(target, output)):
        raise FileExistsError(17, "a file that speccompile did not write is in the way", str(target))
    if mode is not None and not is_plain and not stat.S_ISLNK(mode):
        raise obstacle(mode, target)
    return False


def _is_replaceable(target: Path, output: Output) -> bool:
    """Whether the file is empty, or was generated for such an output."""
    with target.open("rb") as stream:
        start = stream.read(_MAX_SCANNED).decode("utf-8", errors="replace")
    patterns = (output.sign,) if output.sign else _ownership_patterns(output.text)
    return not start or any(pattern.search(start) for pattern in patterns)


def _ownership_patterns(text: str) -> Iterator[re.Pattern[str]]:
    """Patterns of which a file that such manifests were written to matches one: the label of the manager.

    No run can set the label. A platform can change or remove it; then the first object must be the same.
    """
    manager = _labels(r'([^\s",]+)').search(text)
    head = re.match(_FIRST_OBJECT, text)
    first = rf"\A{re.escape(head[0] if head else text)}\n"
    if manager is None:
        yield re.compile(first)
        return
    yield _labels(rf"(?:speccompile|{re.escape(manager[1] or manager[2])})")
    # The platform may have changed the name of the manager.
    yield re.compile(rf"{first}[\s\S]*?(?:{_label_pattern('')})", re.MULTILINE)


@lru_cache(maxsize=8)
def _labels(manager: str) -> re.Pattern[str]:
    return re.compile(_label_pattern(manager), re.MULTILINE)


def _label_pattern(manager: str) -> str:
    """A pattern for the label of a manager, or of any, in the metadata of a generated object in YAML or JSON."""
    label = r'"?app\.kubernetes\.io/managed-by"?: ' + (rf'"?{manager}"?(?=[\s,])' if manager else "")
    in_yaml = rf"^  labels:\r?\n(?:    [^\n]*\n)*?    {label}"
    in_json = rf'"labels": \{{[^{{}}]*{label}'
    return f"{in_yaml}|{in_json}"
