"""`speccompile lint`: report likely mistakes in the placement of pods."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TextIO

from speccompile.cli.cluster_files import read_cluster
from speccompile.cli.findings import (
    assign_severities,
    print_result,
    report_skipped,
    report_success,
    severities_of,
)
from speccompile.cli.inputs import flags_of
from speccompile.cli.objects import Objects, compile_objects, read_objects
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
from speccompile.files.load_admin_config import setting_for
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.findings import CompileError, has_errors, in_order
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.severity import Severities
from speccompile.placement.lint.context import PlacementContext
from speccompile.placement.lint.rules import lint_placement
from speccompile.placement.lint.unknown_pods import UNKNOWN_PODS
from speccompile.placement.node_pools import Pool, declared_pools, pools_of
from speccompile.placement.pod_sets import declared_pod_sets
from speccompile.placement.workloads import pods_of

DONE, INPUT, UNKNOWN = 0, 1, 4
_EXAMPLES = """\
examples:
  speccompile lint                                     all runs that speccompile.yaml names
  speccompile lint manifests/ --platform platform.yaml any manifests, with the pools of the platform file
  speccompile lint --nodes nodes.yaml --objects servers.yaml
  speccompile explain --code placement/pins-nothing    what a finding means

A document with an apiVersion other than speccompile.dev is a manifest; any other document is a run.
"""


def add_lint(commands: Commands) -> None:
    """Add `lint` to the command line."""
    parser = add_command(commands, "lint", COMMANDS["lint"].summary, _EXAMPLES)
    parser.set_defaults(run=run_lint)
    add_paths(
        parser,
        "runs or manifests: a file, a directory, or - for standard input (default: the runs of the project)",
    )
    parser.add_argument(
        "--nodes",
        action="append",
        default=[],
        metavar="FILE",
        type=path,
        help="nodes of the cluster, from kubectl get nodes -o yaml (repeatable; default: the platform's pools)",
    )
    parser.add_argument(
        "--objects",
        action="append",
        default=[],
        metavar="PATH",
        type=path,
        help="existing objects of the cluster, used as context and not linted (repeatable)",
    )
    add_inputs(parser)
    add_format(parser)
    add_findings(parser, "treat warnings as errors; exit with 4 if pods are unknown")


class _Outcome(NamedTuple):
    """All findings, and what was linted."""

    findings: Sequence[Diagnostic] = ()
    stopping: Sequence[Diagnostic] = ()
    """Findings that stop the call; their errors cannot be lowered."""
    skipped: int = 0
    subjects: str = ""
    """What was linted, in words."""


def run_lint(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Lint; print findings to stderr, or to stdout in a machine format."""
    outcome, severity = _Outcome(), None
    try:
        inputs = settle(flags_of(arguments))
        severity = inputs.severity
        outcome = _lint(arguments, inputs, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        outcome = _Outcome(stopping=error.diagnostics)
    findings = _with_severities(arguments, outcome, severity)
    print_result(findings, arguments, stdout, stderr)
    report_skipped(outcome.skipped if not has_errors(findings) else 0, stderr)
    if not findings and not outcome.skipped:
        report_success(f"no findings in {outcome.subjects}", arguments, stderr)
    if has_errors(findings):
        return INPUT
    is_unclear = arguments.strict and any(finding.code == UNKNOWN_PODS for finding in findings)
    return UNKNOWN if is_unclear else DONE


def _with_severities(
    arguments: argparse.Namespace, outcome: _Outcome, severity: Severities | None
) -> tuple[Diagnostic, ...]:
    """Apply severities; `--strict` applies per finding, because a code may have findings of several severities."""

    def is_raised(finding: Diagnostic) -> bool:
        return bool(arguments.strict) and finding.severity is Severity.WARNING

    reported = (*outcome.findings, *outcome.stopping)
    raised = (finding._replace(severity=Severity.ERROR) for finding in reported if is_raised(finding))
    found, stopping = (
        [finding for finding in group if not is_raised(finding)] for group in (outcome.findings, outcome.stopping)
    )
    # The project file cannot lower `--strict`.
    others = assign_severities(found, severities_of(arguments, severity), stopping=stopping)
    return in_order((*assign_severities(raised, severities_of(arguments)), *others))


def _lint(arguments: argparse.Namespace, inputs: Inputs, stderr: TextIO) -> _Outcome:
    if STREAM in (*arguments.nodes, *arguments.objects):
        raise CallError("--nodes and --objects must be files; only PATH can be - for standard input")
    setting = setting_for(inputs)
    pools, snapshot_findings = _pools(arguments.nodes, setting)
    objects, existing = compile_objects(inputs, setting, stderr), read_objects(arguments.objects)
    trees = tuple(one.tree for one in (*objects.objects, *existing.objects))
    pods = pods_of(trees, declared_pod_sets(setting.library))
    linted = {id(one.tree): one.place for one in objects.objects}
    context = PlacementContext(trees, linted, pods.workloads, pools, pods.unknown)
    # `render` reports overridden values.
    errors = (finding for finding in objects.findings if finding.severity is Severity.ERROR)
    return _Outcome(
        [*errors, *lint_placement(context)],
        [*setting.findings, *snapshot_findings, *existing.findings],
        objects.skipped,
        _subjects(objects),
    )


def _subjects(objects: Objects) -> str:
    """The number of runs, and of manifests that no run produced."""
    manifests = sum(one.run is None for one in objects.objects)
    counts = ((objects.runs, "run"), (manifests, "manifest"))
    texts = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count]
    return " and ".join(texts) or "0 manifests"


def _pools(nodes: Sequence[str], setting: Setting) -> tuple[tuple[Pool, ...], list[Diagnostic]]:
    """The pools of the given nodes, or those that the platform file declares."""
    declared = declared_pools(setting.platform)
    if not nodes:
        return declared, []
    snapshot = read_cluster(nodes)
    return pools_of(snapshot.cluster.machines, declared), [*snapshot.findings]
