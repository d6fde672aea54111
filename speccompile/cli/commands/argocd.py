"""`speccompile argocd`: a config management plugin for Argo CD."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePath
from typing import TextIO

from speccompile.cli.findings import assign_severities, print_findings, severities_of
from speccompile.cli.inputs import fixed_inputs
from speccompile.cli.options import COMMANDS, Commands, add_command, add_findings, add_inputs
from speccompile.compiler.compile_files import compile_files
from speccompile.files.call_inputs import STREAM, CallError, Flags, Inputs, settle
from speccompile.files.find import PROJECT_FILE, identity, template_files
from speccompile.files.find_project import find_project, locate
from speccompile.files.load import load
from speccompile.files.load_admin_config import setting_for
from speccompile.files.read import expand
from speccompile.files.run_texts import run_texts
from speccompile.integrations.argocd import VARIABLE, Parameters, describe_parameters, read_parameters
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError, has_errors, stop_if_any
from speccompile.model.severity import STRICT
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import schema_library

DONE, INPUT = 0, 1
_WILDCARDS = frozenset("*?[")
_EXAMPLES = """\
examples:
  speccompile argocd generate                          print manifests, as contrib/argocd/plugin.yaml does
  speccompile argocd parameters                        print the parameters that Argo CD shows

See contrib/argocd for the plugin.
"""
_GENERATE_EXAMPLES = """\
examples:
  speccompile argocd generate                          compile the application in the current directory
  speccompile argocd generate --platform /etc/speccompile/platform.yaml
                                                       use a platform file that applications cannot change
  ARGOCD_APP_PARAMETERS='[{"name": "runs", "array": ["runs/train.yaml"]}]' speccompile argocd generate
"""
_PARAMETERS_EXAMPLES = """\
examples:
  speccompile argocd parameters | jq
"""


def add_argocd(commands: Commands) -> None:
    """Add the command `argocd` and its subcommands."""
    parser = add_command(commands, "argocd", COMMANDS["argocd"].summary, _EXAMPLES)
    parser.set_defaults(run=run_argocd)
    subcommands = parser.add_subparsers(dest="about", metavar="SUBCOMMAND", required=True)
    for name, what, examples in (
        ("generate", "print the manifests of the application in the current directory", _GENERATE_EXAMPLES),
        ("parameters", "print the parameters of the application and their values", _PARAMETERS_EXAMPLES),
    ):
        subparser = add_command(subcommands, name, what, examples)
        add_inputs(subparser)
        add_findings(subparser)


def run_argocd(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Run the plugin and return the exit code.

    With errors, nothing is printed to stdout; without errors, there is always output.
    """
    fixed = fixed_inputs(arguments)
    try:
        parameters = read_parameters(os.environ.get(VARIABLE, ""), fixed, schema_library())
        arguments.strict = arguments.strict or parameters.strict
        inputs = _inputs(arguments, parameters, fixed)
        if arguments.about == "parameters":
            return _announce(inputs, parameters, fixed, stdout)
        return _generate(arguments, inputs, stdout, stderr)
    except CallError as error:
        # No usage: the application is wrong, not the command line of the plugin.
        stderr.write(f"speccompile argocd: error: {error}\n")
    except CompileError as error:
        findings = assign_severities((), severities_of(arguments), stopping=error.diagnostics)
        print_findings(findings, stderr, quiet=arguments.quiet, verbose=arguments.verbose)
    return INPUT


def _inputs(arguments: argparse.Namespace, parameters: Parameters, fixed: Collection[str]) -> Inputs:
    """Resolve the inputs of the application: the runs of its project file, or all files of its directory.

    Raises CallError, or CompileError, also for paths outside the repository.
    """
    project = _project(arguments, parameters)
    is_whole = not parameters.runs and (arguments.project or parameters.project or identity(Path(PROJECT_FILE)))
    runs = ["./-" if run == STREAM else run for run in parameters.runs] or ["."]
    flags = Flags(
        () if is_whole else runs,
        arguments.profiles or parameters.profiles,
        arguments.platform or parameters.platform,
        None,
        str(project) if project else None,
        searches=False,
        templates=arguments.templates,
        untrusted=[name for name in ("profiles", "platform", "project") if not vars(arguments)[name]],
    )
    try:
        inputs = settle(flags)
    except CallError as error:
        raise CallError(f"{project} has no `runs`; add them, or set the parameter `runs`") from error
    templates = () if arguments.templates or arguments.project or not inputs.templates else (inputs.templates,)
    chosen = [
        *inputs.runs,
        *(() if "profiles" in fixed else (*inputs.profiles, *expand(inputs.profiles))),
        *(() if "platform" in fixed else (inputs.platform,)),
        *templates,
        *(file for folder in templates for file in template_files(folder)),
    ]
    stop_if_any(_outside(dict.fromkeys(path for path in chosen if isinstance(path, Path))))
    return inputs


def _project(arguments: argparse.Namespace, parameters: Parameters) -> Path | None:
    """Find the project file: the one of the plugin, the one of the parameters, or the nearest in the repository."""
    if arguments.project:
        return Path(arguments.project)
    named = Path(parameters.project) if parameters.project else None
    stop_if_any(_outside([named] if named else []))
    found = locate(named, _root()) if named else find_project(Path(), _root())
    # Checked before it is read, because findings quote it.
    stop_if_any(_outside([found] if found else []))
    return found


def _outside(paths: Iterable[Path]) -> Iterator[Diagnostic]:
    """Report each path that leads out of the repository: an application may read nothing else."""
    root = _root()
    for path in paths:
        if not _real(path).is_relative_to(root):
            yield Diagnostic(
                code="input/outside-repository",
                message="this path is outside the repository of the application",
                span=Span(Source(str(path), "", Layer.PLATFORM)),
                help="name a file in the repository, or set the option in the plugin's command",
            )


def _root() -> Path:
    """Find the root of the repository from the path of the application, which Argo CD sets."""
    here = _real(Path())
    parts = PurePath(os.environ.get("ARGOCD_APP_SOURCE_PATH", "")).parts
    return here.parents[len(parts) - 1] if parts and here.parts[-len(parts) :] == parts else here


def _real(path: Path) -> Path:
    """Resolve links. Raises CallError if that is impossible."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise CallError(f"cannot resolve {str(path)!r}: it is a link to itself, or not a file name") from error


def _generate(arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO) -> int:
    setting = setting_for(inputs)
    notices: list[Diagnostic] = []
    stopping = list(setting.findings)
    texts: list[str] = []
    for result in compile_files(run_texts(inputs), setting):
        if isinstance(result, CompileError):
            stopping += result.diagnostics
        else:
            notices += result.diagnostics
            texts.append(result.to_yaml())
    findings = assign_severities(notices, severities_of(arguments, inputs.severity, STRICT), stopping=stopping)
    print_findings(findings, stderr, quiet=arguments.quiet, verbose=arguments.verbose)
    if has_errors(findings):
        return INPUT
    if not texts:
        # For Argo CD, no output means no objects, and it may delete all existing ones.
        raise CallError("the application has no runs")
    stdout.write("---\n".join(texts))
    return DONE


def _announce(inputs: Inputs, parameters: Parameters, fixed: Iterable[str], stdout: TextIO) -> int:
    def relative(paths: Iterable[object]) -> list[str]:
        # Argo CD clones the repository to another directory each time.
        return [
            Path(os.path.relpath(path)).as_posix() if isinstance(path, Path) else str(path) for path in paths if path
        ]

    setting = setting_for(inputs)
    values = {
        "runs": parameters.runs or relative(_named_runs(inputs)),
        "profiles": relative(inputs.profiles),
        "platform": relative([inputs.platform]),
    }
    free = {name: paths for name, paths in values.items() if name not in fixed}
    stdout.write(describe_parameters(free, sorted(setting.profiles)))
    return DONE


def _named_runs(inputs: Inputs) -> tuple[Path, ...]:
    """The files and directories under `runs` in the project file; none if it uses patterns, which parameters cannot.

    Directories are not expanded: saved as parameters, their files would hide runs that are added later.
    """
    if not inputs.is_whole:
        return (Path(),)
    named = [str(node.value) for node in load(inputs.project, Layer.PLATFORM).documents[0].root.fields["runs"].items]
    return () if any(_WILDCARDS & {*name} for name in named) else tuple(inputs.project.parent / name for name in named)
