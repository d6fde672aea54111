"""`speccompile place`: find the nodes of a saved cluster that each run fits."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from speccompile.cli.cluster_files import read_cluster
from speccompile.cli.findings import assign_severities, paint_for, print_findings, report_skipped, severities_of
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
from speccompile.files.call_inputs import STREAM, CallError, Inputs, settle
from speccompile.files.load_admin_config import setting_for
from speccompile.files.write_report import Report, is_stdout, write_report
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.severity import STRICT
from speccompile.placement.fit import LocatedWorkload
from speccompile.placement.node_pools import declared_pools
from speccompile.placement.placement import PlacementObjects, PlacementResult, UnknownPods, place_workloads
from speccompile.placement.pod_sets import declared_pod_sets
from speccompile.placement.workloads import ObjectPods, is_daemon_set, pods_of
from speccompile.report.place_html import as_placed_page
from speccompile.report.place_json import as_placed_json
from speccompile.report.place_text import as_placed_table

DONE, INPUT, DOES_NOT_FIT = 0, 1, 4
_PAGE_MARKER = '<meta name="generator" content="speccompile place">'
"""The line by which an existing page is recognized before it is replaced."""
_EXAMPLES = """\
examples:
  kubectl get nodes -o yaml > nodes.yaml; kubectl get pods -A -o yaml > pods.yaml
  speccompile place --nodes nodes.yaml                 all runs of the project, on empty nodes
  speccompile place run.yaml --nodes nodes.yaml --pods pods.yaml --suggest
  speccompile place --nodes nodes.yaml --html placement.html --format json

Evaluates node names, cordons, taints, node selectors, required node affinity, resources and host ports like
kube-scheduler. Volumes, topology spread, pod affinity, resource claims, preferences, priorities, scheduling gates,
quotas and architectures are not considered; the report marks runs that use them. Exit code 4: something does not fit.
Pods of kinds that place does not know are reported as unknown.
"""


def add_place(commands: Commands) -> None:
    """Add `place` to the command line."""
    parser = add_command(commands, "place", COMMANDS["place"].summary, _EXAMPLES)
    parser.set_defaults(run=run_place)
    add_paths(
        parser,
        "runs or manifests: a file, a directory, or - for standard input (default: the runs of the project)",
    )
    for option, what in _FILES.items():
        parser.add_argument(
            f"--{option}",
            action="append",
            default=[],
            metavar="FILE",
            type=path,
            required=option == "nodes",
            help=f"{what} (repeatable)",
        )
    parser.add_argument("--suggest", action="store_true", help="suggest a change for workloads that do not fit")
    parser.add_argument("--html", metavar="FILE", type=path, help="write the report as an HTML page; - prints it")
    add_inputs(parser)
    add_format(parser, ("text", "json"), "format of the report")
    add_findings(parser, "treat overridden values of runs as errors; exit with 4 if pods are unknown")


_FILES = {
    "nodes": "nodes, from kubectl get nodes -o yaml",
    "pods": "pods, from kubectl get pods -A -o yaml",
    "objects": "existing objects, such as model servers",
}


class _Outcome(NamedTuple):
    """The result, and all findings."""

    result: PlacementResult | None = None
    findings: Sequence[Diagnostic] = ()
    stopping: Sequence[Diagnostic] = ()
    """Findings that stop the call; their errors cannot be lowered."""
    skipped: int = 0


def run_place(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Place the workloads; print the report to stdout, write the page, and print findings to stderr."""
    outcome, severities, inputs = _Outcome(), severities_of(arguments), None
    try:
        _refuse_contradictions(arguments)
        inputs = settle(flags_of(arguments))
        severities = severities_of(arguments, inputs.severity, STRICT)
        outcome = _outcome(arguments, inputs, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        outcome = _Outcome(stopping=error.diagnostics)
    findings = assign_severities(outcome.findings, severities, stopping=outcome.stopping)
    print_findings(findings, stderr, quiet=arguments.quiet, verbose=arguments.verbose)
    if has_errors(findings) or outcome.result is None or inputs is None:
        return INPUT
    report_skipped(outcome.skipped, stderr)
    return _report(outcome.result, arguments, inputs, stdout, stderr)


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raise CallError if standard output or standard input is used twice."""
    if arguments.html and is_stdout(arguments.html) and arguments.format == "json":
        raise CallError("--html - and --format json both use standard output; pass a file to --html")
    if any(name == STREAM for option in _FILES for name in getattr(arguments, option)):
        raise CallError("--nodes, --pods and --objects must be files; only PATH can be - for standard input")


def _report(
    result: PlacementResult, arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO
) -> int:
    is_unclear = arguments.strict and result.has_unknown
    code = DOES_NOT_FIT if is_unclear or not result.everything_fits else DONE
    if arguments.html:
        page = Report(as_placed_page(result), arguments.html, _PAGE_MARKER)
        read = [Path(name) for option in _FILES for name in getattr(arguments, option)]
        code = write_report(page, (*inputs.files, *read), stdout, stderr) or code
    if arguments.format == "json":
        stdout.write(as_placed_json(result))
    elif not arguments.html or not is_stdout(arguments.html):
        stdout.write(as_placed_table(result, paint_for(stdout)))
    return code


def _outcome(arguments: argparse.Namespace, inputs: Inputs, stderr: TextIO) -> _Outcome:
    setting = setting_for(inputs)
    objects, existing = compile_objects(inputs, setting, stderr), read_objects(arguments.objects)
    snapshot = read_cluster(arguments.nodes, arguments.pods)
    stopping = [*snapshot.findings, *existing.findings]
    pods = pods_of([one.tree for one in (*objects.objects, *existing.objects)], declared_pod_sets(setting.library))
    result = place_workloads(
        _subjects(objects, pods),
        PlacementObjects(
            [one.tree for one in objects.objects],
            [one.tree for one in existing.objects],
            _unknown(objects, pods),
        ),
        snapshot.cluster,
        declared_pools(setting.platform),
        suggests=arguments.suggest,
    )
    # Findings about profiles do not matter for manifests that no run produced.
    return _Outcome(
        result,
        objects.findings,
        [*stopping, *(setting.findings if objects.runs else ())],
        objects.skipped,
    )


def _subjects(objects: Objects, pods: ObjectPods) -> list[LocatedWorkload]:
    """The workloads to place; those of existing objects already run."""
    given = {id(one.tree): one for one in objects.objects if not is_daemon_set(one.tree)}
    return [
        LocatedWorkload(workload, one.place, one.run)
        for workload in pods.workloads
        if workload.is_complete and (one := given.get(id(workload.owner))) is not None
    ]


def _unknown(objects: Objects, pods: ObjectPods) -> list[UnknownPods]:
    unknown = {id(tree) for tree in pods.unknown}
    return [UnknownPods(*one) for one in objects.objects if id(one.tree) in unknown]
