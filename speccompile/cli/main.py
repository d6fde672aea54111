"""Entry point of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from typing import NoReturn, TextIO, cast

from speccompile.cli.options import COMMANDS, Command
from speccompile.cli.streams import Stream
from speccompile.model.internal_error import traceback_text
from speccompile.version import VERSION

DONE, INPUT, BUG, CHANGES, INTERRUPTED = 0, 1, 3, 4, 130

_USAGE = "%(prog)s [-h] [--version] COMMAND ..."
_DESCRIPTION = "Compile short run specs into Kubernetes manifests under an admin's profiles."
_DIFFERENCES = """\
`validate` checks the specs, `check` compares manifest files with them, `verify`
compares with Kubernetes API schemas, `lint` finds placement mistakes without a
cluster, and `place` evaluates a saved list of nodes."""
_EXAMPLES = """\
examples:
  speccompile init my-project                          create a project to start from
  speccompile render run.yaml --profiles profiles/     print the manifests of a run
  speccompile explain run.yaml                         show which line set each value
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one call and return its exit code; results go to stdout, everything else to stderr.

    No state of the streams causes a traceback. Exit code 1 if results cannot be printed, unless the reader closed the
    pipe; a stderr that cannot be written changes nothing.
    """
    stdout, stderr = Stream(sys.stdout), Stream(sys.stderr)
    # argparse and tracebacks write to `sys.stdout` and `sys.stderr` themselves.
    with redirect_stdout(cast("TextIO", stdout)), redirect_stderr(cast("TextIO", stderr)):
        try:
            code = _run(sys.argv[1:] if argv is None else argv)
        except SystemExit as stop:  # argparse exits after --help and on errors
            raise SystemExit(_flush(int(stop.code or DONE), stdout, stderr)) from None
        return _flush(code, stdout, stderr)


def _run(words: Sequence[str]) -> int:
    try:
        # Setting up all commands takes longer than most of them run.
        arguments, unknown = parser(words[:1]).parse_known_args(words)
        if unknown:
            arguments.refuse_unknown(unknown, words)
        if arguments.command is None:
            arguments.refuse("missing command; run `speccompile --help` for the list")
        code: int = arguments.run(arguments, sys.stdout, sys.stderr)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  any exception that gets here is an internal error
        sys.stderr.write(traceback_text(error))
        sys.stderr.write("\nspeccompile: internal error; please report it with the text above\n")
        return BUG
    return code


def _flush(code: int, stdout: Stream, stderr: Stream) -> int:
    """Flush stdout, and return the exit code."""
    stdout.flush()
    error = stdout.fault
    if error is None or isinstance(error, BrokenPipeError):
        return code
    stderr.write(f"speccompile: cannot write to standard output: {getattr(error, 'strerror', None) or error}\n")
    return INPUT if code in (DONE, CHANGES) else code


def parser(commands: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Build the parser with these commands; if none of them exists, with the names of all commands."""
    names = [name for name in commands if name in COMMANDS]
    description = _DESCRIPTION if names else "\n".join((_DESCRIPTION, *_command_list(), "", _DIFFERENCES))
    top = Command(prog="speccompile", usage=_USAGE, description=description, epilog=_EXAMPLES)
    top.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    # With `prog`, argparse does not format a usage line for each command.
    below = top.add_subparsers(
        dest="command",
        metavar="COMMAND",
        parser_class=Command,
        prog=top.prog,
        help=None if names else argparse.SUPPRESS,
    )
    for name in names:
        getattr(import_module(f"speccompile.cli.commands.{name}"), f"add_{name}")(below)
    for name in () if names else COMMANDS:
        below.add_parser(name, add_help=False)
    return top


def _command_list() -> Iterator[str]:
    width = max(map(len, COMMANDS))
    for group in dict.fromkeys(about.group for about in COMMANDS.values()):
        yield f"\n{group}:"
        yield from (f"  {name:{width}}  {about.summary}" for name, about in COMMANDS.items() if about.group == group)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"speccompile {VERSION}\n")
        parser.exit()
