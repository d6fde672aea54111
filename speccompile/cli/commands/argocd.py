"""`speccompile argocd`: a config management plugin for Argo CD."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import TextIO

from speccompile.cli.findings import judged, severities_of, tell
from speccompile.cli.options import COMMANDS, Commands, add_command, add_findings, add_inputs
from speccompile.compiler.compile_files import compile_files
from speccompile.files.call_inputs import STREAM, CallError, Flags, Inputs, settle
from speccompile.files.find import PROJECT_FILE, identity, template_files
from speccompile.files.find_project import find_project, locate
from speccompile.files.load import load
from speccompile.files.load_admin_config import read_setting
from speccompile.files.read import expand
from speccompile.files.run_files import run_files
from speccompile.integrations.argocd import VARIABLE, Parameters, describe_parameters, read_parameters
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError, has_errors, stop_if_any
from speccompile.model.severity import STRICT
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import schema_library

DONE, INPUT = 0, 1
_FIXED = ("profiles", "platform", "project")
_WILDCARDS = frozenset("*?[")
_EXAMPLES = """\
examples:
  speccompile argocd generate                          what contrib/argocd/plugin.yaml runs
  speccompile argocd parameters
"""
_GENERATE_EXAMPLES = """\
examples:
  speccompile argocd generate                          the application in the current directory
  speccompile argocd generate --platform /etc/speccompile/platform.yaml
                                                       under a platform that no application can change
  ARGOCD_APP_PARAMETERS='[{"name": "runs", "array": ["runs/train.yaml"]}]' speccompile argocd generate
"""
_PARAMETERS_EXAMPLES = """\
examples:
  speccompile argocd parameters | jq
"""


def add_argocd(commands: Commands) -> None:
    """Gives the command line its `argocd` with everything below it."""
    parser = add_command(commands, "argocd", COMMANDS["argocd"].what, _EXAMPLES)
    parser.set_defaults(run=run_argocd)
    below = parser.add_subparsers(dest="about", metavar="WHAT", required=True)
    generating = add_command(
        below, "generate", "print the manifests of the application in the current directory", _GENERATE_EXAMPLES
    )
    announcing = add_command(
        below, "parameters", "announce what the application can set, with the values it has", _PARAMETERS_EXAMPLES
    )
    for one in (generating, announcing):
        add_inputs(one)
        add_findings(one, "values of a run that a profile or the platform changes are errors")


def run_argocd(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; with errors nothing goes to stdout, and without there is always something."""
    fixed = [name for name in _FIXED if vars(arguments)[name]]
    try:
        parameters = read_parameters(os.environ.get(VARIABLE, ""), fixed, schema_library())
        arguments.strict = arguments.strict or parameters.strict
        inputs = _inputs(arguments, parameters)
        if arguments.about == "parameters":
            return _announce(inputs, parameters, fixed, stdout)
        return _generate(arguments, inputs, stdout, stderr)
    except CallError as error:
        # The plugin's own command line is in order: this is the application's fault.
        stderr.write(f"speccompile argocd: error: {error}\n")
    except CompileError as error:
        tell(judged((), severities_of(arguments), stopping=error.diagnostics), stderr, quiet=arguments.quiet)
    return INPUT


def _inputs(arguments: argparse.Namespace, parameters: Parameters) -> Inputs:
    """What the application is made of: its own project's runs, or all that is in its directory.

    Raises CallError, or CompileError also if something is outside of the repository.
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
    )
    try:
        inputs = settle(flags)
    except CallError as error:
        raise CallError(f"there are no `runs` in {project}; add them there, or set the parameter `runs`") from error
    if inputs.templates and not arguments.templates and (arguments.platform or arguments.profiles):
        # Whoever writes templates writes manifests, whatever platform and profiles say.
        raise CallError(
            f"{project} has `templates`, which are not for applications to set where the plugin sets platform or "
            "profiles; remove them there, or set them on the plugin's own command line"
        )
    templates = () if arguments.templates or not inputs.templates else (inputs.templates,)
    chosen = [
        *inputs.runs,
        *(() if arguments.profiles else (*inputs.profiles, *expand(inputs.profiles))),
        *(() if arguments.platform else (inputs.platform,)),
        *templates,
        *(file for folder in templates for file in template_files(folder)),
    ]
    stop_if_any(_outside(dict.fromkeys(path for path in chosen if isinstance(path, Path))))
    return inputs


def _project(arguments: argparse.Namespace, parameters: Parameters) -> Path | None:
    """The project file: the plugin's, or one of the repository, in the application's directory if none is named."""
    if arguments.project:
        return Path(arguments.project)
    named = Path(parameters.project) if parameters.project else None
    stop_if_any(_outside([named] if named else []))
    found = locate(named, _root()) if named else find_project(Path(), _root())
    # Before it is read: what it says may be shown.
    stop_if_any(_outside([found] if found else []))
    return found


def _outside(paths: Iterable[Path]) -> Iterator[Diagnostic]:
    """A finding for each path that leads out of the repository: what is there is none of the application's business."""
    root = _root()
    for path in paths:
        if not _real(path).is_relative_to(root):
            yield Diagnostic(
                code="input/outside-repository",
                message="this is outside of the application's repository",
                span=Span(Source(str(path), "", Layer.PLATFORM)),
                help="name a file of the repository, or set it on the plugin's own command line",
            )


def _root() -> Path:
    """The repository's own directory, which is above the application's by the path that Argo CD tells."""
    here = _real(Path())
    parts = PurePath(os.environ.get("ARGOCD_APP_SOURCE_PATH", "")).parts
    return here.parents[len(parts) - 1] if parts and here.parts[-len(parts) :] == parts else here


def _real(path: Path) -> Path:
    """Where the path leads. Raises CallError if that cannot be told."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise CallError(f"{str(path)!r} leads nowhere: its links go in a circle, or it is no name of a file") from error


def _generate(arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO) -> int:
    setting = read_setting(inputs.profiles, inputs.platform, inputs.templates)
    told: list[Diagnostic] = []
    stopping = list(setting.findings)
    texts: list[str] = []
    for result in compile_files(run_files(inputs), setting):
        if isinstance(result, CompileError):
            stopping += result.diagnostics
        else:
            told += result.diagnostics
            texts.append(result.to_yaml())
    findings = judged(told, severities_of(arguments, inputs.severity, STRICT), stopping=stopping)
    tell(findings, stderr, quiet=arguments.quiet)
    if has_errors(findings):
        return INPUT
    if not texts:
        # Argo CD would take no output for no objects, and may delete all that there are.
        raise CallError("there is no run in the application")
    stdout.write("---\n".join(texts))
    return DONE


def _announce(inputs: Inputs, parameters: Parameters, fixed: Iterable[str], stdout: TextIO) -> int:
    def called(paths: Iterable[object]) -> list[str]:
        # Relative, because Argo CD has the repository in another place each time.
        return [
            Path(os.path.relpath(path)).as_posix() if isinstance(path, Path) else str(path) for path in paths if path
        ]

    setting = read_setting(inputs.profiles, inputs.platform, inputs.templates)
    found = {
        "runs": parameters.runs or called(_named_runs(inputs)),
        "profiles": called(inputs.profiles),
        "platform": called([inputs.platform]),
    }
    shown = {name: values for name, values in found.items() if name not in fixed}
    stdout.write(describe_parameters(shown, sorted(setting.profiles)))
    return DONE


def _named_runs(inputs: Inputs) -> tuple[Path, ...]:
    """The files and directories that the project file names; none if it has patterns, which parameters have not.

    Not what they hold: whoever saves what is announced would miss every run that comes later.
    """
    if not inputs.is_whole:
        return (Path(),)
    named = [str(node.value) for node in load(inputs.project, Layer.PLATFORM).documents[0].root.fields["runs"].items]
    return () if any(_WILDCARDS & {*name} for name in named) else tuple(inputs.project.parent / name for name in named)
