"""Takes arguments and streams, gives an exit code: 0 done, 1 faulty input, 2 wrong call, 3 a bug of ours, 4 changes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, TextIO

if TYPE_CHECKING:
    from speccompile.diagnostics import Diagnostic
    from speccompile.inputs import Inputs

DONE, INPUT, USAGE, BUG = 0, 1, 2, 3

_RENDER_EXAMPLES = """\
examples:
  speccompile render run.yaml                          print the manifests
  speccompile render runs/ --profiles profiles/        a folder of runs, under the admin's profiles
  speccompile render runs/ -o manifests/               a file for each run, written all or none
  speccompile render                                   all runs that speccompile.yaml names
  cat run.yaml | speccompile render - | kubectl apply -f -
"""
_VALIDATE_EXAMPLES = """\
examples:
  speccompile validate run.yaml
  speccompile validate runs/ --profiles profiles/ --strict
  speccompile validate                                 all runs that speccompile.yaml names
"""
_MAIN_EXAMPLES = """\
examples:
  speccompile render examples/runs/train.yaml
  speccompile render examples/runs --profiles examples/profiles
  speccompile validate --project examples/speccompile.yaml
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of one call; nothing is printed but manifests on stdout and everything else on stderr."""
    arguments = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        # The same bytes on every machine, whatever encoding it prefers.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    try:
        return _run(arguments, sys.stdout, sys.stderr)
    except BrokenPipeError:
        # The reader has seen enough; without this, the interpreter complains once more while it ends.
        sys.stdout = None
        return DONE
    except KeyboardInterrupt:
        return 130
    except Exception:  # noqa: BLE001  whatever escapes is a bug of ours, and says so
        import traceback  # wanted on this path only

        traceback.print_exc()
        sys.stderr.write("\nspeccompile: this is a bug in speccompile; please report it with the text above\n")
        return BUG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="speccompile",
        description="Compile short run specs into Kubernetes manifests, with the admin's profiles on top.",
        epilog=_MAIN_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    render = _command(commands, "render", "print the manifests of runs, or write a file for each run", _RENDER_EXAMPLES)
    render.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=_path,
        help="write a file for each run under DIR; - prints them",
    )
    render.add_argument("--json", action="store_true", help="print JSON instead of YAML")
    _command(
        commands,
        "validate",
        "print what is wrong with runs, profiles and platform, and nothing else",
        _VALIDATE_EXAMPLES,
    )
    from speccompile.cli_profiles import add_profiles  # it knows nothing but argparse until it is called

    add_profiles(commands, _add_inputs, _path)
    return parser


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return text


class _Version(argparse.Action):
    """Looks the version up only when somebody asks: the lookup is slower than all else in --help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        sys.stdout.write(f"speccompile {version('speccompile')}\n")
        parser.exit()


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str, examples: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        type=_path,
        help="a file, a directory, or - for standard input; without it, the runs of the project",
    )
    _add_inputs(parser)
    parser.add_argument("--strict", action="store_true", help="values of a run that a profile replaces are errors")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.set_defaults(refuse=parser.error)
    return parser


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    """The options that mean the same for every command."""
    parser.add_argument(
        "--profiles",
        action="append",
        default=[],
        metavar="PATH",
        type=_path,
        help="a profile file or a directory of them (repeatable)",
    )
    parser.add_argument(
        "--platform",
        metavar="FILE",
        type=_path,
        help="the platform file, or the name of a bundled preset; without it, the built-in platform",
    )
    parser.add_argument(
        "--project",
        metavar="FILE",
        type=_path,
        help="the project file; without it, speccompile.yaml beside the runs or above",
    )


def _run(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    from speccompile.diagnostics import CompileError
    from speccompile.inputs import CallError, Flags, settle

    if arguments.command == "profiles":
        from speccompile.cli_profiles import run_profiles

        return run_profiles(arguments, stdout, stderr, _report)
    output = vars(arguments).get("output")
    flags = Flags(arguments.paths, arguments.profiles, arguments.platform, output, arguments.project)
    try:
        inputs = settle(flags)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        _report(error.diagnostics, stderr, quiet=arguments.quiet)
        return INPUT
    return _compile(arguments, inputs, stdout, stderr)


def _compile(arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO) -> int:
    from pathlib import Path  # not for --help

    from speccompile.api import read_setting
    from speccompile.batch import compile_files
    from speccompile.diagnostics import CompileError, has_errors, in_order
    from speccompile.load import load, load_stream
    from speccompile.model import Layer
    from speccompile.output import Output, write
    from speccompile.progress import counted

    if None in inputs.runs and sys.stdin is None:
        stderr.write("speccompile: standard input is closed\n")
        return INPUT
    setting = read_setting(inputs.profiles, inputs.platform)
    files = (
        load_stream(sys.stdin.buffer, "<stdin>", Layer.RUN) if path is None else load(path, Layer.RUN)
        for path in inputs.runs
    )
    findings: list[Diagnostic] = list(setting.findings)
    outputs: list[Output] = []
    for result in compile_files(counted(files, len(inputs.runs), stderr), setting):
        findings += result.diagnostics
        if not isinstance(result, CompileError) and arguments.command == "render":
            outputs.append(Output.of(result, as_json=arguments.json))
    if arguments.strict:
        findings = _strict(findings)
    failed = has_errors(findings)
    _report(in_order(findings), stderr, quiet=arguments.quiet)
    if failed:
        return INPUT
    if arguments.command == "render":
        known = [path for path in inputs.runs if isinstance(path, Path)]
        return write(outputs, inputs.output, known, stdout, stderr, as_json=arguments.json)
    return DONE


def _strict(findings: list[Diagnostic]) -> list[Diagnostic]:
    from dataclasses import replace

    from speccompile.diagnostics import Severity

    return [
        replace(finding, severity=Severity.ERROR) if finding.code == "merge/overridden" else finding
        for finding in findings
    ]


def _report(findings: Sequence[Diagnostic], stderr: TextIO, *, quiet: bool) -> None:
    from speccompile.diagnostics import Severity
    from speccompile.report import as_text, summary

    shown = [finding for finding in findings if finding.severity is Severity.ERROR or not quiet]
    if not shown:
        return
    try:
        stderr.write(f"{as_text(shown)}speccompile: {summary(shown)}\n")
        stderr.flush()
    except BrokenPipeError:
        # Nobody reads on, but what was found stays found; see main.
        sys.stderr = None
