"""Takes arguments and streams, gives an exit code: 0 done, 1 faulty input, 2 wrong call, 3 a bug of ours, 4 changes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import NoReturn, TextIO, cast

# These know nothing but argparse until they are called.
from speccompile.cli_argocd import add_argocd
from speccompile.cli_check import add_check
from speccompile.cli_completion import add_completion
from speccompile.cli_explain import add_explain
from speccompile.cli_helm import add_helm
from speccompile.cli_init import add_init
from speccompile.cli_krm import add_krm
from speccompile.cli_options import Command
from speccompile.cli_profiles import add_profiles
from speccompile.cli_render import add_render
from speccompile.cli_schema import add_schema
from speccompile.cli_streams import Stream
from speccompile.cli_verify import add_verify

DONE, INPUT, BUG, CHANGES, INTERRUPTED = 0, 1, 3, 4, 130

_COMMANDS = (
    add_init,
    add_render,
    add_check,
    add_explain,
    add_verify,
    add_profiles,
    add_schema,
    add_completion,
    add_krm,
    add_helm,
    add_argocd,
)
"""Each gives the command line one command, or several that are close."""

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
        arguments = _parser().parse_args(argv)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="speccompile",
        description="Compile short run specs into Kubernetes manifests, with the admin's profiles on top.",
        epilog=_MAIN_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    kind: type[argparse.ArgumentParser] = Command
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=kind)
    for add in _COMMANDS:
        add(commands)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when somebody asks: the lookup is slower than all else in --help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        sys.stdout.write(f"speccompile {version('speccompile')}\n")
        parser.exit()
