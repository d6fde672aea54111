"""The command line: arguments to an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from typing import NoReturn, TextIO, cast

from speccompile.cli.options import COMMANDS, Command, Help
from speccompile.cli.streams import Stream
from speccompile.version import VERSION

DONE, INPUT, BUG, CHANGES, INTERRUPTED = 0, 1, 3, 4, 130

_MAIN_EXAMPLES = """\
examples:
  speccompile init                                     a small project to begin with
  speccompile render run.yaml --profiles profiles/     print the manifests of a run
  speccompile explain run.yaml                         who set each value of them, and where
  speccompile check                                    are the committed manifests those of the specs?
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of one call; results go to stdout, everything else to stderr.

    No state of the streams gives a traceback: results that cannot be printed are 1, unless the reader has seen
    enough, and what cannot be told on stderr changes nothing.
    """
    stdout, stderr = Stream(sys.stdout), Stream(sys.stderr)
    # The interpreter's own names too, so that what argparse and tracebacks write is caught as well.
    with redirect_stdout(cast("TextIO", stdout)), redirect_stderr(cast("TextIO", stderr)):
        try:
            code = _answered(argv)
        except SystemExit as stop:  # argparse ends --help and wrong calls in this way
            raise SystemExit(_ended(int(stop.code or DONE), stdout, stderr)) from None
        return _ended(code, stdout, stderr)


def _answered(argv: Sequence[str] | None) -> int:
    try:
        words = sys.argv[1:] if argv is None else argv
        # Setting up all commands takes longer than most of them run.
        arguments = parser(words[:1]).parse_args(words)
        code: int = arguments.run(arguments, sys.stdout, sys.stderr)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # noqa: BLE001  whatever escapes is a bug of ours, and says so
        import traceback  # wanted on this path only

        traceback.print_exc()
        sys.stderr.write("\nspeccompile: this is a bug in speccompile; please report it with the text above\n")
        return BUG
    return code


def _ended(code: int, stdout: Stream, stderr: Stream) -> int:
    """The exit code, once everything is out of our hands."""
    stdout.flush()
    fault = stdout.fault
    is_lost = fault is not None and not isinstance(fault, BrokenPipeError)
    if is_lost:
        stderr.write(f"speccompile: the output could not be printed: {getattr(fault, 'strerror', None) or fault}\n")
    return INPUT if is_lost and code in (DONE, CHANGES) else code


def parser(commands: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """What reads the command line of these commands; if they are none, it knows all of them by name."""
    top = argparse.ArgumentParser(
        prog="speccompile",
        description="Compile short run specs into Kubernetes manifests, with the admin's profiles on top.",
        epilog=_MAIN_EXAMPLES,
        formatter_class=Help,
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    kind: type[argparse.ArgumentParser] = Command
    # Told its name, argparse need not work out what a call looks like.
    below = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=kind, prog=top.prog)
    known = dict.fromkeys(COMMANDS[name].module for name in commands if name in COMMANDS)
    for module in known:
        getattr(import_module(f"speccompile.cli.commands.{module}"), f"add_{module}")(below)
    for name, (_, what) in () if known else COMMANDS.items():
        below.add_parser(name, help=what, formatter_class=Help, add_help=False)
    return top


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"speccompile {VERSION}\n")
        parser.exit()
