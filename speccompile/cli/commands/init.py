"""`speccompile init`: write a small project that works."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from os.path import lexists
from pathlib import Path
from shlex import quote
from typing import TextIO

from speccompile.cli.options import COMMANDS, Commands, add_command, path
from speccompile.compiler.bundled_library import bundled_library
from speccompile.files.find import PROJECT_FILE
from speccompile.files.write import Output, nothing_written, write_files
from speccompile.integrations.starter_project import HOOKS, hook, new_project
from speccompile.schema.bundled import starter_texts
from speccompile.terminal.display_width import printable

DONE, INPUT = 0, 1
_HERE, _GIT = ".", ".git"
_EXAMPLES = """\
examples:
  speccompile init                                     a project in the current directory
  speccompile init my-project                          in another one, which may be there already

It writes a project file, a platform, a CPU and a GPU profile, two runs with their manifests, schemas for editors and
a pre-commit configuration, or in a repository that has its own, the hook to add there. It never replaces a file.
"""
_NEXT = "speccompile explain runs/hello.yaml"
_THEN = "speccompile render"


def add_init(commands: Commands) -> None:
    """Gives the command line its `init`."""
    parser = add_command(commands, "init", COMMANDS["init"].what, _EXAMPLES)
    parser.set_defaults(run=run_init)
    what = "the directory of the project (default: the current one)"
    parser.add_argument("folder", nargs="?", default=_HERE, metavar="DIR", type=path, help=what)


def run_init(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call: 0 if every file is there, and told on stdout; 1 if none is, and stderr says why.

    A stdout that takes nothing is told by whoever closes it; the files are there all the same.
    """
    root, texts = Path(arguments.folder), starter_texts()
    files = new_project(texts, bundled_library())
    config, project = _own_hooks(root)
    if config is not None:
        del files[HOOKS]
    taken = _taken(root, files)
    if taken:
        stderr.write(_refusal(taken))
        return INPUT
    try:
        written = write_files([Output(Path(name), text) for name, text in files.items()], root)
    except OSError as error:
        stderr.write(nothing_written(error, root))
        return INPUT
    advice = "" if config is None else _advice(config, hook(texts, project))
    stdout.write(_told(written, advice, arguments.folder))
    return DONE


def _own_hooks(root: Path) -> tuple[Path | None, str | None]:
    """The configuration of hooks of the repository, if that is not for us to write; and the project as seen from it.

    pre-commit looks for it at the root of a work tree only.
    """
    here = root.resolve()
    top = next((folder for folder in (here, *here.parents) if lexists(folder / _GIT)), here)
    if top != here:
        return top / HOOKS, (here.relative_to(top) / PROJECT_FILE).as_posix()
    return (root / HOOKS if lexists(root / HOOKS) else None), None


def _advice(config: Path, hook: str) -> str:
    return f"\nfor pre-commit, add this to `repos` in {printable(str(config))}:\n{hook}"


def _taken(root: Path, files: Iterable[str]) -> list[Path]:
    """What stands where a file belongs; and where a folder belongs, what is none, or a link to one."""
    paths = [root / name for name in files]
    folders = dict.fromkeys(file.parent for file in paths if file.parent != root)
    odd = [folder for folder in folders if lexists(folder) and (folder.is_symlink() or not folder.is_dir())]
    return [*odd, *(file for file in paths if file.parent not in odd and lexists(file))]


def _refusal(taken: Sequence[Path]) -> str:
    these, them = ("this is", "it") if len(taken) == 1 else ("these are", "them")
    names = "".join(f"  {printable(str(path))}\n" for path in taken)
    cure = f"move {them} away, or name another directory: speccompile init DIR"
    return f"speccompile: nothing was written, as {these} there already:\n{names}{cure}\n"


def _told(written: Iterable[Path], advice: str, folder: str) -> str:
    files = "".join(f"wrote {printable(str(file))}\n" for file in written)
    there = "" if folder == _HERE else f"cd {_as_word(folder)} && "
    return f"{files}{advice}\nnext:\n  {there}{_NEXT}\n  {_THEN}\n"


def _as_word(folder: str) -> str:
    """The folder as a shell takes it for one word, and for no option; what a terminal would obey is escaped."""
    path = f"./{folder}" if folder.startswith("-") else folder
    if path.isprintable():
        return quote(path)
    letters = map(chr, os.fsencode(path))
    escaped = (char if char.isascii() and char.isalnum() else f"\\x{ord(char):02x}" for char in letters)
    return f"$'{''.join(escaped)}'"
