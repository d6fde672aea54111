"""`speccompile profiles`: list, show, lint and compare profiles."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from speccompile.admin.impact import as_data as impact_data
from speccompile.admin.impact import as_text, impact, outcomes
from speccompile.admin.lint_profiles import lint
from speccompile.admin.show_profiles import as_data, as_table, as_yaml, summary_data
from speccompile.cli.findings import judged, severities_of, stream_for, tell
from speccompile.cli.options import (
    COMMANDS,
    Commands,
    add_command,
    add_findings,
    add_format,
    add_inputs,
    add_paths,
    path,
)
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.profiles import choose
from speccompile.files.call_inputs import CallError, Flags, Inputs, settle
from speccompile.files.find import identity
from speccompile.files.git_revision import load_revision
from speccompile.files.load_admin_config import read_setting, setting_with
from speccompile.files.run_files import run_files
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.findings import CompileError, has_errors, stop_if_any
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.report.formats import TEXT
from speccompile.terminal.progress import counted

DONE, INPUT = 0, 1

_EXAMPLES = """\
examples:
  speccompile profiles list --profiles profiles/
  speccompile profiles show 1xa100 --profiles profiles/
  speccompile profiles lint --profiles profiles/ --platform platform.yaml
  speccompile profiles impact --old main
"""
_LIST_EXAMPLES = """\
examples:
  speccompile profiles list                            the profiles that speccompile.yaml names
  speccompile profiles list --profiles profiles/ --json
"""
_SHOW_EXAMPLES = """\
examples:
  speccompile profiles show 1xa100                     a profile file that needs no parents
  speccompile profiles show 1xa100 --json              the same for programs
"""
_LINT_EXAMPLES = """\
examples:
  speccompile profiles lint                            the profiles and platform that speccompile.yaml names
  speccompile profiles lint --profiles profiles/ --strict
"""
_IMPACT_EXAMPLES = """\
examples:
  speccompile profiles impact --old main               this work tree against the branch main
  speccompile profiles impact --old HEAD~3 --new profiles/ runs/
  speccompile profiles impact --old profiles/ --new profiles-next/ runs/ --json

exit codes: 0 nothing changes, 4 something does, 1 something does not compile
"""


def add_profiles(commands: Commands) -> None:
    """Gives the command line its `profiles` with everything below it."""
    parser = add_command(commands, "profiles", COMMANDS["profiles"].what, _EXAMPLES)
    parser.set_defaults(run=run_profiles)
    below = parser.add_subparsers(dest="about", metavar="WHAT", required=True)
    listing = add_command(below, "list", "what each profile fixes, by default and by rule, in a table", _LIST_EXAMPLES)
    showing = add_command(
        below, "show", "one profile with all that its parents bring, and where each value comes from", _SHOW_EXAMPLES
    )
    showing.add_argument("id", metavar="ID", help="the profile's id")
    linting = add_command(
        below, "lint", "warn of what is allowed and hardly meant, such as a rule that can never fire", _LINT_EXAMPLES
    )
    add_format(linting)
    add_findings(linting, "warnings are errors")
    comparing = add_command(
        below, "impact", "compile runs under old and new profiles, and group what changes", _IMPACT_EXAMPLES
    )
    _add_impact(comparing)
    for one in (listing, showing, comparing):
        one.add_argument("--json", action="store_true", help="print JSON, for programs")
    for one in (listing, showing, linting, comparing):
        add_inputs(one)


def _add_impact(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, "runs: a file, a directory, or - for standard input; without it, the runs of the project")
    parser.add_argument(
        "--old",
        required=True,
        metavar="PATH_OR_REVISION",
        type=path,
        help="the old profiles: a path that exists, or else the git revision at which to read the new ones",
    )
    parser.add_argument(
        "--new",
        action="append",
        default=[],
        metavar="PATH",
        type=path,
        help="the new profiles (repeatable); without it, those of --profiles or of the project",
    )


class Answer(NamedTuple):
    """What a call has to say: a text for stdout, findings for stderr, and its exit code if none of them is an error."""

    text: str = ""
    findings: tuple[Diagnostic, ...] = ()
    stopping: tuple[Diagnostic, ...] = ()
    """What there is instead of an answer; errors among it are errors, whatever the call makes of their codes."""
    code: int = DONE
    severity: Mapping[str, str] = {}
    """What the project file makes of codes."""


def run_profiles(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; the answer goes to stdout, whatever is wrong to stderr."""
    try:
        answer = _COMMANDS[arguments.about](arguments, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        answer = Answer(stopping=error.diagnostics)
    findings = (*answer.findings, *answer.stopping)
    if arguments.about == "lint":
        strict = {finding.code: Severity.ERROR for finding in findings if finding.severity is Severity.WARNING}
        severities = severities_of(arguments, answer.severity, strict)
        findings = judged(answer.findings, severities, stopping=answer.stopping)
    told = vars(arguments)
    form = told.get("format", TEXT)
    # The findings are what `lint` is called for; in a format for programs they go where programs read.
    tell(findings, stream_for(form, stdout, stderr), form, quiet=told.get("quiet", False))
    stdout.write(answer.text)
    return INPUT if has_errors(findings) else answer.code


def _setting(arguments: argparse.Namespace) -> Setting:
    """The setting of the call; raises everything that is wrong with it."""
    inputs = _inputs(arguments)
    setting = read_setting(inputs.profiles, inputs.platform, inputs.templates)
    stop_if_any(setting.findings)
    return setting


def _inputs(arguments: argparse.Namespace) -> Inputs:
    flags = Flags(profiles=arguments.profiles, platform=arguments.platform, project=arguments.project)
    return settle(flags._replace(templates=arguments.templates), wants_runs=False)


def _list(arguments: argparse.Namespace, _: TextIO) -> Answer:
    profiles = _setting(arguments).profiles.values()
    return Answer(_json([summary_data(profile) for profile in profiles]) if arguments.json else as_table(profiles))


def _show(arguments: argparse.Namespace, _: TextIO) -> Answer:
    wanted = Node(arguments.id, Span(Source("<command line>", "", Layer.PROFILE)))
    profile, unknown = choose(wanted, _setting(arguments).profiles)
    if profile is None:
        raise CompileError(unknown)
    return Answer(_json(as_data(profile)) if arguments.json else as_yaml(profile))


def _lint(arguments: argparse.Namespace, _: TextIO) -> Answer:
    inputs = _inputs(arguments)
    setting = read_setting(inputs.profiles, inputs.platform, inputs.templates)
    if setting.is_broken:
        return Answer(stopping=setting.findings, severity=inputs.severity)
    return Answer(findings=lint(setting), severity=inputs.severity)


def _impact(arguments: argparse.Namespace, stderr: TextIO) -> Answer:
    profiles = arguments.new or arguments.profiles
    flags = Flags(arguments.paths, profiles, arguments.platform, None, arguments.project)
    inputs = settle(flags._replace(templates=arguments.templates))
    if not inputs.profiles:
        raise CallError("give --new PATH, the profiles to compare the old ones with")
    old, new = _old_setting(arguments.old, inputs), read_setting(inputs.profiles, inputs.platform, inputs.templates)
    stop_if_any((*old.findings, *new.findings))
    files = counted(run_files(inputs), len(inputs.runs), stderr)
    found = impact(outcomes(files, old, new))
    return Answer(_json(impact_data(found)) if arguments.json else as_text(found), code=found.exit_code)


def _old_setting(old: str, inputs: Inputs) -> Setting:
    if identity(Path(old)):
        return read_setting([Path(old)], inputs.platform, inputs.templates)
    return setting_with(load_revision(old, inputs.profiles, Layer.PROFILE), inputs.platform, inputs.templates)


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


_COMMANDS: Mapping[str, Callable[[argparse.Namespace, TextIO], Answer]] = {
    "list": _list,
    "show": _show,
    "lint": _lint,
    "impact": _impact,
}
