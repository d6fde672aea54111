"""Takes arguments and streams, gives an exit code: 0 done, 1 faulty input, 2 wrong call, 3 a bug of ours, 4 changes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

# These know nothing but argparse until they are called.
from speccompile.cli_explain import add_explain
from speccompile.cli_findings import judged, tell
from speccompile.cli_options import Command, add_command, add_findings, add_format, add_inputs, add_paths, path
from speccompile.cli_profiles import add_profiles

if TYPE_CHECKING:
    from pathlib import Path

    from speccompile.batch import Result
    from speccompile.cli_options import Commands
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
    kind: type[argparse.ArgumentParser] = Command
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=kind)
    what = "print the manifests of runs, or write a file for each run"
    render = _add_compiling(commands, "render", what, _RENDER_EXAMPLES)
    render.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=path,
        help="write a file for each run under DIR; - prints them",
    )
    render.add_argument("--json", action="store_true", help="print JSON instead of YAML")
    render.add_argument(
        "--report",
        metavar="FILE",
        type=path,
        help="write what profiles and platform replaced, added to or refused of what runs say, as JSON",
    )
    what = "print what is wrong with runs, profiles and platform, and nothing else"
    _add_compiling(commands, "validate", what, _VALIDATE_EXAMPLES)
    add_explain(commands)
    add_profiles(commands)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when somebody asks: the lookup is slower than all else in --help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        sys.stdout.write(f"speccompile {version('speccompile')}\n")
        parser.exit()


def _add_compiling(commands: Commands, name: str, what: str, examples: str) -> argparse.ArgumentParser:
    parser = add_command(commands, name, what, examples)
    add_paths(parser)
    add_inputs(parser)
    add_format(parser)
    add_findings(parser, "values of a run that a profile or the platform changes are errors")
    return parser


def _run(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    if arguments.command == "profiles":
        from speccompile.cli_profiles import run_profiles

        return run_profiles(arguments, stdout, stderr)
    if arguments.command == "explain":
        from speccompile.cli_explain import run_explain

        return run_explain(arguments, stdout, stderr)
    from speccompile.diagnostics import CompileError
    from speccompile.inputs import CallError, Flags, settle

    output = vars(arguments).get("output")
    flags = Flags(arguments.paths, arguments.profiles, arguments.platform, output, arguments.project)
    code = INPUT
    try:
        code = _compile(arguments, settle(flags), stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        _tell(judged(error.diagnostics, arguments, {}, {}), arguments, stdout, stderr)
    return code


def _tell(findings: Iterable[Diagnostic], arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> None:
    """Findings go to stderr, or where programs read if they are for programs, and all that the command gives."""
    is_for_programs = arguments.command == "validate" and arguments.format != "text"
    tell(findings, stdout if is_for_programs else stderr, arguments.format, quiet=arguments.quiet)


def _compile(arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO) -> int:
    from pathlib import Path  # not for --help

    from speccompile.api import read_setting
    from speccompile.batch import compile_files
    from speccompile.diagnostics import CompileError, has_errors
    from speccompile.grades import STRICT
    from speccompile.inputs import run_files
    from speccompile.output import Output, write
    from speccompile.progress import counted

    setting = read_setting(inputs.profiles, inputs.platform)
    found: list[Diagnostic] = list(setting.findings)
    outputs: list[Output] = []
    entries: list[Mapping[str, Any]] = []
    left_out = 0
    for result in compile_files(counted(run_files(inputs), len(inputs.runs), stderr), setting):
        found += result.diagnostics
        entries += _changes(result, arguments)
        if isinstance(result, CompileError):
            left_out += 1
        elif arguments.command == "render":
            outputs.append(Output.of(result, as_json=arguments.json))
    findings = judged(found, arguments, inputs.severity, STRICT)
    _tell(findings, arguments, stdout, stderr)
    known = [path for path in inputs.runs if isinstance(path, Path)]
    if arguments.command == "render" and arguments.report:
        failed = _write_changes(entries, arguments.report, known, stderr)
        if failed:
            return failed
    if has_errors(findings):
        return INPUT
    if left_out and arguments.format == "text":
        runs = "1 run is" if left_out == 1 else f"{left_out} runs are"
        stderr.write(
            f"speccompile: {runs} left out: what has errors has no manifests, however severe they are called\n"
        )
    if arguments.command == "render":
        return write(outputs, inputs.output, known, stdout, stderr, as_json=arguments.json)
    return DONE


def _changes(result: Result, arguments: argparse.Namespace) -> Iterable[Mapping[str, Any]]:
    """What the admin did to the values of a run, if somebody wants a report of it."""
    if arguments.command != "render" or not arguments.report:
        return ()
    from speccompile.report.overrides import override_entries
    from speccompile.resources import bundled_codes

    return override_entries(result, bundled_codes())


def _write_changes(entries: Iterable[Mapping[str, Any]], file: str, known: Sequence[Path], stderr: TextIO) -> int:
    from speccompile.output import write_report
    from speccompile.report.overrides import GENERATOR, as_overrides_json

    return write_report(as_overrides_json(entries), file, GENERATOR, known, stderr)
