"""`speccompile place`: which nodes of a saved cluster each run fits."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from speccompile.cli.cluster_files import cluster_seen
from speccompile.cli.findings import judged, paint_for, severities_of, tell, tell_left_out
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
from speccompile.files.call_inputs import STREAM, CallError, Inputs, settle
from speccompile.files.load_admin_config import read_setting
from speccompile.files.write_report import Report, is_stdout, write_report
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.redaction import without_values
from speccompile.model.severity import STRICT
from speccompile.placement.fit import LocatedWorkload
from speccompile.placement.node_pools import declared_pools
from speccompile.placement.placement import PlacementObjects, PlacementResult, place_workloads
from speccompile.placement.workloads import is_placed, workloads
from speccompile.report.place_html import as_placed_page
from speccompile.report.place_json import as_placed_json
from speccompile.report.place_text import as_placed_table

DONE, INPUT, NOWHERE = 0, 1, 4
_SIGN = '<meta name="generator" content="speccompile place">'
"""By which a page of ours is known."""
_EXAMPLES = """\
examples:
  kubectl get nodes -o yaml > nodes.yaml; kubectl get pods -A -o yaml > pods.yaml
  speccompile place --nodes nodes.yaml                 all runs that speccompile.yaml names, on empty nodes
  speccompile place run.yaml --nodes nodes.yaml --pods pods.yaml --suggest
  speccompile place --nodes nodes.yaml --html fleet.html --format json

Looks at node names, cordons, taints, node selectors and required node affinity, resources and host ports, as
kube-scheduler does. Not at volumes, topology spread, affinity to other pods, resource claims, preferences,
priorities, gates, quotas or architectures: what a run has of these is told. Exit code 4: something fits no node.
"""


def add_place(commands: Commands) -> None:
    """Gives the command line its `place`."""
    parser = add_command(commands, "place", COMMANDS["place"].what, _EXAMPLES)
    parser.set_defaults(run=run_place)
    add_paths(
        parser,
        "runs or manifests: a file, a directory, or - for standard input; without it, the runs of the project",
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
    parser.add_argument("--suggest", action="store_true", help="name the smallest change for what fits no node")
    parser.add_argument("--html", metavar="FILE", type=path, help="write one page with everything; - prints it")
    add_inputs(parser)
    add_format(parser, ("text", "json"), "how to print the answer")
    add_findings(parser, "values of a run that a profile or the platform changes are errors")


_FILES = {
    "nodes": "its nodes, by kubectl get nodes -o yaml",
    "pods": "what runs there, by kubectl get pods -A -o yaml",
    "objects": "what else it has, such as servers of models",
}


class _Outcome(NamedTuple):
    """What was decided, and all that was found on the way."""

    answer: PlacementResult | None = None
    findings: Sequence[Diagnostic] = ()
    stopping: Sequence[Diagnostic] = ()
    """What there is no way round; errors among it are errors, whatever the call makes of their codes."""
    not_placed: int = 0


def run_place(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; the answer goes to stdout and into the page, and findings to stderr."""
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
    findings = judged(outcome.findings, severities, stopping=outcome.stopping)
    tell(findings, stderr, quiet=arguments.quiet)
    if has_errors(findings) or outcome.answer is None or inputs is None:
        return INPUT
    tell_left_out(outcome.not_placed, stderr)
    return _told(outcome.answer, arguments, inputs, stdout, stderr)


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raises CallError if standard output, or standard input, is wanted twice."""
    if arguments.html and is_stdout(arguments.html) and arguments.format == "json":
        raise CallError("--html - and --format json both go to standard output; give --html a file")
    if any(name == STREAM for option in _FILES for name in getattr(arguments, option)):
        raise CallError("--nodes, --pods and --objects are files; only a PATH can be standard input")


def _told(
    result: PlacementResult, arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO
) -> int:
    code = DONE if result.everything_fits else NOWHERE
    if arguments.html:
        code = _write_page(result, arguments, inputs, stdout, stderr) or code
    if arguments.format == "json":
        stdout.write(as_placed_json(result))
    elif not arguments.html or not is_stdout(arguments.html):
        stdout.write(as_placed_table(result, paint_for(stdout)))
    return code


def _write_page(
    result: PlacementResult, arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO
) -> int:
    read = [Path(name) for option in _FILES for name in getattr(arguments, option)]
    return write_report(Report(as_placed_page(result), arguments.html, _SIGN), (*inputs.files, *read), stdout, stderr)


def _outcome(arguments: argparse.Namespace, inputs: Inputs, stderr: TextIO) -> _Outcome:
    setting = read_setting(inputs.profiles, inputs.platform, inputs.templates)
    ours, theirs = compiled_objects(inputs, setting, stderr), given_objects(arguments.objects)
    seen = cluster_seen(arguments.nodes, arguments.pods)
    hidden = {**theirs.hidden, **ours.hidden}
    stopping = [*seen.findings, *without_values(theirs.findings, hidden)]
    decided = place_workloads(
        _subjects(ours, theirs),
        PlacementObjects(*(tuple(one.tree for one in side.given) for side in (ours, theirs))),
        seen.cluster,
        declared_pools(setting.platform),
        suggests=arguments.suggest,
    )
    # What is wrong with profiles is no matter of manifests that come from none.
    return _Outcome(
        decided,
        [*without_values(ours.findings, hidden)],
        [*stopping, *(setting.findings if ours.runs else ())],
        ours.left_out,
    )


def _subjects(ours: Objects, theirs: Objects) -> list[LocatedWorkload]:
    """The workloads that the call is about; what the cluster has already runs, or does not."""
    given = {id(one.tree): one for one in ours.given if is_placed(one.tree)}
    made = workloads([one.tree for one in (*ours.given, *theirs.given)])
    return [
        LocatedWorkload(workload, one.place, one.run)
        for workload in made
        if (one := given.get(id(workload.owner))) is not None
    ]
