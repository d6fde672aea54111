"""Takes compilations, gives them to a stream or a folder: all of them, or none."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from speccompile.names import object_name
from speccompile.pipeline import Compiled
from speccompile.serialize import serialize_json

_DONE, _FAILED = 0, 1
_SIGNATURE = re.compile(r'app\.kubernetes\.io/managed-by"?: "?speccompile')


class Output(NamedTuple):
    """The text of one run and the file it belongs into; trees are let go, so that large batches fit into memory."""

    path: Path
    text: str
    manifests: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, compiled: Compiled, *, as_json: bool) -> Output:
        folder = Path() if compiled.project == "default" else Path(object_name(compiled.project))
        data = tuple(manifest.data for manifest in compiled.manifests) if as_json else ()
        text = serialize_json(data) if as_json else compiled.to_yaml()
        suffix = "json" if as_json else "yaml"
        return cls(folder / f"{object_name(compiled.name)}.{suffix}", text, data)


def write(  # noqa: PLR0913  the edge of the program: everything it needs comes by hand
    outputs: Sequence[Output],
    folder: Path | str | None,
    inputs: Sequence[Path],
    stdout: TextIO,
    stderr: TextIO,
    *,
    as_json: bool,
) -> int:
    """The exit code: everything is printed, or written below the folder."""
    if folder is None or folder == "-":
        try:
            _print(outputs, stdout, as_json=as_json)
        except BrokenPipeError:
            raise
        except (OSError, ValueError, AttributeError) as error:
            # A full disk, or a standard output that was closed before the call.
            stderr.write(f"speccompile: the manifests could not be printed: {error}\n")
            return _FAILED
        return _DONE
    try:
        write_files(outputs, Path(folder), inputs)
    except OSError as error:
        stderr.write(f"speccompile: nothing was written: {error.strerror or error}: {error.filename or folder}\n")
        return _FAILED
    return _DONE


def _print(outputs: Sequence[Output], stdout: TextIO, *, as_json: bool) -> None:
    if as_json:
        stdout.write(serialize_json([data for output in outputs for data in output.manifests]))
    else:
        stdout.write("---\n".join(output.text for output in outputs))
    stdout.flush()


def write_files(
    outputs: Sequence[Output], root: Path, inputs: Sequence[Path] = (), sign: re.Pattern[str] = _SIGNATURE
) -> None:
    """Each text in its file below the root; files appear whole, and only once all of them are on disk."""
    staged: list[tuple[Path, Path]] = []
    known = {path.resolve() for path in inputs}
    try:
        for output in outputs:
            target = root / output.path
            _make_folder(root, target.parent)
            if target.is_dir() and not target.is_symlink():
                raise IsADirectoryError(21, "a directory stands in the way", str(target))
            if target.resolve() in known or not _is_ours(target, sign):
                raise FileExistsError(17, "a file that speccompile did not write stands in the way", str(target))
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=".speccompile-")
            staged.append((Path(name), target))
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(output.text)
            Path(name).chmod(0o666 & ~_umask())
        for made, target in staged:
            # Replaces a link instead of following it.
            made.replace(target)
    finally:
        for made, _ in staged:
            made.unlink(missing_ok=True)


def write_report(text: str, file: str, sign: str, inputs: Sequence[object], stderr: TextIO) -> int:
    """The exit code: the text is written to the file, whole, unless that is a file without our sign in it."""
    path = Path(file)
    known = [one for one in inputs if isinstance(one, Path)]
    try:
        write_files([Output(Path(path.name), text, ())], path.parent, known, re.compile(re.escape(sign)))
    except OSError as error:
        stderr.write(f"speccompile: {file} was not written: {error.strerror or error}\n")
        return _FAILED
    return _DONE


def _is_ours(target: Path, sign: re.Pattern[str]) -> bool:
    """Whether nothing is lost if the target is replaced: it is not there, a link, empty, or made by us."""
    if target.is_symlink() or not target.exists():
        return True
    text = target.read_text(encoding="utf-8", errors="replace")
    return not text or sign.search(text) is not None


def _make_folder(root: Path, folder: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    if folder != root:
        if folder.is_symlink():
            raise OSError(40, "a link leads out of the output folder", str(folder))
        folder.mkdir(exist_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
