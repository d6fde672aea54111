"""`speccompile profiles`: list, show, lint and compare profiles."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from speccompile.admin.impact import group_outcomes, impact_data, impact_text, outcomes
from speccompile.admin.lint_profiles import lint_profiles
from speccompile.admin.show_profiles import profile_data, profile_table, profile_yaml, summary_data
from speccompile.cli.findings import assign_severities, print_findings, print_result, report_success, severities_of
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
from speccompile.files.load_admin_config import setting_for, setting_with
from speccompile.files.run_files import run_files
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.findings import CompileError, has_errors, stop_if_any
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
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
  speccompile profiles list                            the profiles of the project
  speccompile profiles list --profiles profiles/ --json
"""
_SHOW_EXAMPLES = """\
examples:
  speccompile profiles show 1xa100                     merged with its parents
  speccompile profiles show 1xa100 --json              the same as JSON
"""
_LINT_EXAMPLES = """\
examples:
  speccompile profiles lint                            the profiles and platform file of the project
  speccompile profiles lint --profiles profiles/ --strict
"""
_IMPACT_EXAMPLES = """\
examples:
  speccompile profiles impact --old main               this work tree against the branch main
  speccompile profiles impact --old HEAD~3 --new profiles/ runs/
  speccompile profiles impact --old profiles/ --new profiles-next/ runs/ --json

exit codes: 0 nothing changes, 4 manifests change, 1 a run does not compile
"""


def add_profiles(commands: Commands) -> None:
    """Add the `profiles` command with its subcommands."""
    parser = add_command(commands, "profiles", COMMANDS["profiles"].summary, _EXAMPLES)
    parser.set_defaults(run=run_profiles)
    below = parser.add_subparsers(dest="about", metavar="SUBCOMMAND", required=True)
    listing = add_command(below, "list", "list profiles: what each fixes, its defaults and rules", _LIST_EXAMPLES)
    showing = add_command(
        below, "show", "show a profile merged with its parents, and the origin of each value", _SHOW_EXAMPLES
    )
    showing.add_argument("id", metavar="ID", help="id of the profile")
    linting = add_command(
        below, "lint", "flag likely mistakes that the compiler accepts, such as a rule without effect", _LINT_EXAMPLES
    )
    add_format(linting)
    add_findings(linting, "treat warnings as errors")
    comparing = add_command(
        below, "impact", "compile runs with old and new profiles and group the changes", _IMPACT_EXAMPLES
    )
    _add_impact(comparing)
    for one in (listing, showing, comparing):
        one.add_argument("--json", action="store_true", help="print JSON")
    for one in (listing, showing, linting, comparing):
        add_inputs(one)


def _add_impact(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, "runs: a file, a directory, or - for standard input (default: the runs of the project)")
    parser.add_argument(
        "--old",
        required=True,
        metavar="PATH_OR_REVISION",
        type=path,
        help="the old profiles: an existing path, or a git revision from which to read the new profiles' paths",
    )
    parser.add_argument(
        "--new",
        action="append",
        default=[],
        metavar="PATH",
        type=path,
        help="the new profiles (repeatable; default: --profiles, or those of the project)",
    )


class _Outcome(NamedTuple):
    """The result of a subcommand."""

    text: str = ""
    findings: tuple[Diagnostic, ...] = ()
    stopping: tuple[Diagnostic, ...] = ()
    """Findings that prevent a result; errors among them stay errors, whatever their severity is set to."""
    code: int = DONE
    """The exit code, unless there are errors."""
    severity: Mapping[str, str] = {}
    """The severities of the project file."""
    success: str = ""
    """Reported on stderr if there are no findings."""


def run_profiles(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Run a subcommand; its result goes to stdout, findings to stderr."""
    try:
        outcome = _COMMANDS[arguments.about](arguments, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        outcome = _Outcome(stopping=error.diagnostics)
    findings = (*outcome.findings, *outcome.stopping)
    if arguments.about == "lint":
        strict = {finding.code: Severity.ERROR for finding in findings if finding.severity is Severity.WARNING}
        severities = severities_of(arguments, outcome.severity, strict)
        findings = assign_severities(outcome.findings, severities, stopping=outcome.stopping)
        print_result(findings, arguments, stdout, stderr)
    else:
        print_findings(findings, stderr)
    stdout.write(outcome.text)
    if outcome.success and not findings:
        report_success(outcome.success, arguments, stderr)
    return INPUT if has_errors(findings) else outcome.code


def _setting(arguments: argparse.Namespace) -> Setting:
    """The profiles and platform of the call. Raise CompileError if they have errors."""
    inputs = _inputs(arguments)
    setting = setting_for(inputs)
    stop_if_any(setting.findings)
    return setting


def _inputs(arguments: argparse.Namespace) -> Inputs:
    flags = Flags(profiles=arguments.profiles, platform=arguments.platform, project=arguments.project)
    flags = flags._replace(templates=arguments.templates, functions=arguments.functions)
    return settle(flags, wants_runs=False)


def _list(arguments: argparse.Namespace, _: TextIO) -> _Outcome:
    profiles = _setting(arguments).profiles.values()
    if arguments.json:
        return _Outcome(_json([summary_data(profile) for profile in profiles]))
    return _Outcome(profile_table(profiles))


def _show(arguments: argparse.Namespace, _: TextIO) -> _Outcome:
    profile_id = Node(arguments.id, Span(Source("<command line>", "", Layer.PROFILE)))
    profile, unknown = choose(profile_id, _setting(arguments).profiles)
    if profile is None:
        raise CompileError(unknown)
    return _Outcome(_json(profile_data(profile)) if arguments.json else profile_yaml(profile))


def _lint(arguments: argparse.Namespace, _: TextIO) -> _Outcome:
    inputs = _inputs(arguments)
    setting = setting_for(inputs)
    if setting.is_broken:
        return _Outcome(stopping=setting.findings, severity=inputs.severity)
    count = len(setting.profiles)
    return _Outcome(
        findings=(*setting.findings, *lint_profiles(setting)),
        severity=inputs.severity,
        success=f"no findings in {count} {'profile' if count == 1 else 'profiles'}",
    )


def _impact(arguments: argparse.Namespace, stderr: TextIO) -> _Outcome:
    profiles = arguments.new or arguments.profiles
    flags = Flags(arguments.paths, profiles, arguments.platform, None, arguments.project)
    # An admin compares profiles, in a project that is theirs.
    flags = flags._replace(templates=arguments.templates, functions=arguments.functions)
    inputs = settle(flags._replace(trusts_found_project=True))
    if not inputs.profiles:
        raise CallError("no new profiles: pass --new PATH")
    old, new = _old_setting(arguments.old, inputs), setting_for(inputs)
    stop_if_any((*old.findings, *new.findings))
    files = counted(run_files(inputs), len(inputs.runs), stderr)
    impact = group_outcomes(outcomes(files, old, new))
    return _Outcome(_json(impact_data(impact)) if arguments.json else impact_text(impact), code=impact.exit_code)


def _old_setting(old: str, inputs: Inputs) -> Setting:
    if identity(Path(old)):
        return setting_for(inputs._replace(profiles=(Path(old),)))
    return setting_with(load_revision(old, inputs.profiles, Layer.PROFILE), inputs)


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


_COMMANDS: Mapping[str, Callable[[argparse.Namespace, TextIO], _Outcome]] = {
    "list": _list,
    "show": _show,
    "lint": _lint,
    "impact": _impact,
}
