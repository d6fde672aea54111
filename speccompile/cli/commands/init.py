"""`speccompile init`: create a small working project."""

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
from speccompile.files.replace_files import Output, write_failure
from speccompile.files.write import write_files
from speccompile.integrations.starter_project import HOOKS, hook, new_project
from speccompile.schema.bundled import starter_texts
from speccompile.terminal.display_width import printable

DONE, INPUT = 0, 1
_HERE, _GIT = ".", ".git"
_EXAMPLES = """\
examples:
  speccompile init                                     create a project in the current directory
  speccompile init my-project                          in another directory, which may exist

Writes a project file, a platform file, a CPU and a GPU profile, two runs with their manifests, schemas for editors
and a pre-commit configuration. If the repository has one already, prints the hook to add. Never replaces a file.
"""


def add_init(commands: Commands) -> None:
    """Add the command `init`."""
    parser = add_command(commands, "init", COMMANDS["init"].summary, _EXAMPLES)
    parser.set_defaults(run=run_init)
    what = "directory of the project (default: the current directory)"
    parser.add_argument("folder", nargs="?", default=_HERE, metavar="DIR", type=path, help=what)


def run_init(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Write all files and list them on stdout, or write none and explain why; return the exit code."""
    root, texts = Path(arguments.folder), starter_texts()
    files = new_project(texts, bundled_library())
    config, project = _existing_hooks(root)
    if config is not None:
        del files[HOOKS]
    existing = _existing(root, files)
    if existing:
        stderr.write(_refusal(existing))
        return INPUT
    try:
        written = write_files([Output(Path(name), text) for name, text in files.items()], root)
    except OSError as error:
        stderr.write(write_failure(error, root))
        return INPUT
    advice = ""
    if config is not None:
        advice = f"\nfor pre-commit, add this to `repos` in {printable(str(config))}:\n{hook(texts, project)}"
    stdout.write(_summary(written, advice, arguments.folder))
    return DONE


def _existing_hooks(root: Path) -> tuple[Path | None, str | None]:
    """The pre-commit configuration, if it is not to be written, and the project file relative to the repository.

    pre-commit reads its configuration only at the root of a repository.
    """
    here = root.resolve()
    top = next((folder for folder in (here, *here.parents) if lexists(folder / _GIT)), here)
    if top != here:
        return top / HOOKS, (here.relative_to(top) / PROJECT_FILE).as_posix()
    return (root / HOOKS if lexists(root / HOOKS) else None), None


def _existing(root: Path, files: Iterable[str]) -> list[Path]:
    """The files that exist already, and folders that are links or not folders."""
    paths = [root / name for name in files]
    folders = dict.fromkeys(file.parent for file in paths if file.parent != root)
    blocked = [folder for folder in folders if lexists(folder) and (folder.is_symlink() or not folder.is_dir())]
    return [*blocked, *(file for file in paths if file.parent not in blocked and lexists(file))]


def _refusal(existing: Sequence[Path]) -> str:
    what, them = ("this path exists", "it") if len(existing) == 1 else ("these paths exist", "them")
    names = "".join(f"  {printable(str(path))}\n" for path in existing)
    advice = f"move {them} away, or choose another directory: speccompile init DIR"
    return f"speccompile: nothing was written, because {what}:\n{names}{advice}\n"


def _summary(written: Iterable[Path], advice: str, folder: str) -> str:
    files = "".join(f"wrote {printable(str(file))}\n" for file in written)
    there = "" if folder == _HERE else f"cd {_as_word(folder)} && "
    return f"{files}{advice}\nnext:\n  {there}speccompile explain runs/hello.yaml\n  speccompile render\n"


def _as_word(folder: str) -> str:
    """Quote the folder for a shell, so that it is neither split nor taken for an option."""
    path = f"./{folder}" if folder.startswith("-") else folder
    if path.isprintable():
        return quote(path)
    letters = map(chr, os.fsencode(path))
    escaped = (char if char.isascii() and char.isalnum() else f"\\x{ord(char):02x}" for char in letters)
    return f"$'{''.join(escaped)}'"
