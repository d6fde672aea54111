"""`speccompile lint`: likely mistakes in where pods would run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TextIO

from speccompile.cli.cluster_files import cluster_seen
from speccompile.cli.findings import judged, report_success, severities_of, stream_for, tell, tell_left_out
from speccompile.cli.inputs import flags_of
from speccompile.cli.objects import Objects, compiled_objects, given_objects
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
from speccompile.files.call_inputs import STREAM, CallError, Inputs, settle
from speccompile.files.load_admin_config import read_setting
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.findings import CompileError, has_errors, in_order
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.redaction import without_values
from speccompile.model.severity import Severities
from speccompile.placement.lint.context import LintContext
from speccompile.placement.lint.rules import lint_placement
from speccompile.placement.node_pools import Pool, declared_pools, pools_of
from speccompile.placement.workloads import workloads

DONE, INPUT = 0, 1
_EXAMPLES = """\
examples:
  speccompile lint                                     all runs that speccompile.yaml names
  speccompile lint manifests/ --platform platform.yaml any manifests, by the pools that the platform declares
  speccompile lint --nodes nodes.yaml --objects servers.yaml
  speccompile explain --code placement/pins-nothing    what a finding means

A document with an apiVersion is a manifest, unless that is speccompile's own; any other is a run.
"""


def add_lint(commands: Commands) -> None:
    """Gives the command line its `lint`."""
    parser = add_command(commands, "lint", COMMANDS["lint"].what, _EXAMPLES)
    parser.set_defaults(run=run_lint)
    add_paths(
        parser,
        "runs or manifests: a file, a directory, or - for standard input; without it, the runs of the project",
    )
    parser.add_argument(
        "--nodes",
        action="append",
        default=[],
        metavar="FILE",
        type=path,
        help="nodes of the cluster, of kubectl get nodes -o yaml (repeatable); else the platform's pools",
    )
    parser.add_argument(
        "--objects",
        action="append",
        default=[],
        metavar="PATH",
        type=path,
        help="objects that the cluster has already, which are looked at and not judged (repeatable)",
    )
    add_inputs(parser)
    add_format(parser)
    add_findings(parser, "warnings are errors")


class _Answer(NamedTuple):
    """All that was found."""

    findings: Sequence[Diagnostic] = ()
    stopping: Sequence[Diagnostic] = ()
    """What there is no way round; errors among it are errors, whatever the call makes of their codes."""
    left_out: int = 0
    subjects: str = ""
    """What was linted, in words."""


def run_lint(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; findings go to stderr, or to stdout if for programs."""
    answer, severity = _Answer(), None
    try:
        inputs = settle(flags_of(arguments))
        severity = inputs.severity
        answer = _answer(arguments, inputs, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        answer = _Answer(stopping=error.diagnostics)
    findings = _judged(arguments, answer, severity)
    tell(findings, stream_for(arguments.format, stdout, stderr), arguments.format, quiet=arguments.quiet)
    tell_left_out(answer.left_out if not has_errors(findings) else 0, stderr)
    if not findings and not answer.left_out:
        report_success(f"no findings in {answer.subjects}", arguments, stderr)
    return INPUT if has_errors(findings) else DONE


def _judged(arguments: argparse.Namespace, answer: _Answer, severity: Severities | None) -> tuple[Diagnostic, ...]:
    """The findings as they count; `--strict` is about each, since one code may be a warning here and a notice there."""

    def is_raised(finding: Diagnostic) -> bool:
        return bool(arguments.strict) and finding.severity is Severity.WARNING

    told = (*answer.findings, *answer.stopping)
    raised = (finding._replace(severity=Severity.ERROR) for finding in told if is_raised(finding))
    found, stopping = (
        [finding for finding in group if not is_raised(finding)] for group in (answer.findings, answer.stopping)
    )
    # What is raised, the project file does not lower.
    others = judged(found, severities_of(arguments, severity), stopping=stopping)
    return in_order((*judged(raised, severities_of(arguments)), *others))


def _answer(arguments: argparse.Namespace, inputs: Inputs, stderr: TextIO) -> _Answer:
    if STREAM in (*arguments.nodes, *arguments.objects):
        raise CallError("--nodes and --objects are files; only a PATH can be standard input")
    setting = read_setting(inputs.profiles, inputs.platform, inputs.templates)
    pools, unread = _pools(arguments.nodes, setting)
    ours, theirs = compiled_objects(inputs, setting, stderr), given_objects(arguments.objects)
    trees = tuple(one.tree for one in (*ours.given, *theirs.given))
    context = LintContext(trees, {id(one.tree): one.place for one in ours.given}, workloads(trees), pools)
    # What a profile does to a run's values is for `render` to tell.
    errors = (finding for finding in ours.findings if finding.severity is Severity.ERROR)
    hidden = {**theirs.hidden, **ours.hidden}
    return _Answer(
        [*without_values((*errors, *lint_placement(context)), hidden)],
        [*setting.findings, *unread, *without_values(theirs.findings, hidden)],
        ours.left_out,
        _subjects(ours),
    )


def _subjects(objects: Objects) -> str:
    """The number of runs, and of manifests that no run produced."""
    manifests = sum(one.run is None for one in objects.given)
    counts = ((objects.runs, "run"), (manifests, "manifest"))
    texts = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count]
    return " and ".join(texts) or "0 manifests"


def _pools(nodes: Sequence[str], setting: Setting) -> tuple[tuple[Pool, ...], list[Diagnostic]]:
    """The pools of the nodes that are given, by the names that the platform has for them, or those it declares."""
    declared = declared_pools(setting.platform)
    if not nodes:
        return declared, []
    seldon_state = cluster_seen(nodes)
    return pools_of(seldon_state.cluster.machines, declared), [*seldon_state.findings]
