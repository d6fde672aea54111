"""`speccompile verify`: validate manifests against Kubernetes API schemas."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from speccompile.cli.findings import (
    assign_severities,
    paint_for,
    print_result,
    report_skipped,
    report_success,
    severities_of,
)
from speccompile.cli.inputs import flags_of
from speccompile.cli.objects import compile_inputs
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
from speccompile.compiler.pod_structure import members
from speccompile.files.call_inputs import CallError, Inputs, settle
from speccompile.files.find import Unlisted
from speccompile.files.load_admin_config import setting_for
from speccompile.files.read import MAX_MANIFESTS, expand, read_file
from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.findings import CompileError, has_errors, stop_if_any
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.severity import STRICT
from speccompile.model.source import Layer, Source, Span
from speccompile.report.formats import TEXT
from speccompile.verify.crds import BAD_DEFINITION, add_schema_faults, definitions, is_definition
from speccompile.verify.documents import parse_quickly
from speccompile.verify.kubectl_scalars import as_kubernetes_reads
from speccompile.verify.kubernetes_api import in_version_order, known_version, near_versions, versions
from speccompile.verify.table import version_table
from speccompile.verify.verify import Api, LocatedObject, VerifyResult, result_findings, verify_object, verify_run
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

DONE, INPUT = 0, 1
_INSTALL = "the API schemas are not installed; install speccompile with the `verify` extra"
_EXAMPLES = """\
examples:
  speccompile verify                                   all runs that speccompile.yaml names
  speccompile verify runs/ --kubernetes 1.31 --kubernetes 1.33
  speccompile verify manifests/ --crd crds/            any manifests, including custom kinds
  helm template chart | speccompile verify -

A document with an apiVersion other than speccompile.dev is a manifest; any other document is a run.
Requires the `verify` extra.
"""


def add_verify(commands: Commands) -> None:
    """Add `verify` to the command line."""
    parser = add_command(commands, "verify", COMMANDS["verify"].summary, _EXAMPLES)
    parser.set_defaults(run=run_verify)
    add_paths(
        parser,
        "runs or manifests: a file, a directory, or - for standard input (default: the runs of the project)",
    )
    parser.add_argument(
        "--kubernetes",
        action="append",
        default=[],
        metavar="VERSION",
        help="a version, such as 1.33 (repeatable; default: those of the project file, or the newest known)",
    )
    parser.add_argument(
        "--crd",
        action="append",
        default=[],
        metavar="PATH",
        type=path,
        help="CustomResourceDefinitions of custom kinds: a file or a directory (repeatable)",
    )
    add_inputs(parser)
    add_format(parser)
    add_findings(parser)


class _Outcome(NamedTuple):
    """The results, and all findings."""

    verdicts: Sequence[VerifyResult] = ()
    findings: Sequence[Diagnostic] = ()
    stopping: Sequence[Diagnostic] = ()
    """Findings that stop the call; their errors cannot be lowered."""
    skipped: int = 0


def run_verify(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Verify; print the table to stdout, and findings to stderr, or to stdout in a machine format."""
    outcome, severities = _Outcome(), severities_of(arguments)
    versions: tuple[str, ...] = ()
    try:
        inputs = settle(flags_of(arguments))
        severities = severities_of(arguments, inputs.severity, STRICT)
        versions = _versions(arguments.kubernetes, inputs)
        outcome = _verify(arguments, inputs, versions, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except ModuleNotFoundError as error:
        if error.name != "kubernetes_validate":
            raise
        arguments.refuse(_INSTALL)
    except CompileError as error:
        outcome = _Outcome(stopping=error.diagnostics)
    findings = assign_severities(outcome.findings, severities, stopping=outcome.stopping)
    print_result(findings, arguments, stdout, stderr)
    report_skipped(outcome.skipped if not has_errors(findings) else 0, stderr)
    if arguments.format == TEXT and outcome.verdicts:
        table = version_table(outcome.verdicts, versions, severities, paint_for(stdout))
        stdout.write(table.text)
        if table.is_valid and not has_errors(findings):
            report_success(table.summary, arguments, stderr)
        else:
            stdout.write(f"\n{table.summary}\n" if table.text else f"{table.summary}\n")
    return INPUT if has_errors(findings) else DONE


def _versions(options: Sequence[str], inputs: Inputs) -> tuple[str, ...]:
    """The versions to verify against, oldest first; raises for a version without schemas."""
    wanted = options or [*inputs.kubernetes]
    unknown = [text for text in wanted if known_version(text) is None]
    messages = {text: f"no API schemas for Kubernetes {quote(text)}" for text in unknown}
    if unknown and options:
        raise CallError(f"{messages[unknown[0]]}; available: {', '.join(near_versions(unknown[0]))}")
    if unknown:
        raise CompileError(
            Diagnostic(
                code="api/unknown-version",
                message=messages[text],
                span=inputs.kubernetes[text],
                path=("kubernetes", [*inputs.kubernetes].index(text)),
                help=f"use the nearest available version, {near_versions(text)[0]}",
            )
            for text in unknown
        )
    return in_version_order(known_version(text) or text for text in wanted or versions()[-1:])


def _verify(arguments: argparse.Namespace, inputs: Inputs, versions: Sequence[str], stderr: TextIO) -> _Outcome:
    apis, all_findings = _apis(arguments.crd, versions)
    setting = setting_for(inputs)
    results: list[VerifyResult] = []
    runs = skipped = 0
    for one in compile_inputs(inputs, setting, stderr, all_findings):
        if isinstance(one, LocatedObject):
            results.append(add_schema_faults(verify_object(one, apis), one.tree))
            continue
        runs += 1
        all_findings += one.diagnostics
        if isinstance(one, CompileError):
            skipped += 1
        else:
            results += verify_run(one, apis)
    all_findings += (finding for result in results for finding in result_findings(result))
    # Findings about profiles do not matter for manifests that no run produced.
    stopping = setting.findings if runs else ()
    return _Outcome(results, all_findings, stopping, skipped)


def _apis(crds: Sequence[str], versions: Sequence[str]) -> tuple[list[Api], list[Diagnostic]]:
    """The API of each version with the custom kinds; raises if their definitions have errors."""
    for read in (parse_quickly, parse):
        trees, faults = _crd_trees(crds, read)
        known = definitions(trees, Api(versions[-1]))
        findings = [*faults, *known.findings]
        # A fast parse has no lines; a file that could not be read has none either.
        if all(found.span and (found.span.line or not found.span.source.text) for found in findings):
            break
    stop_if_any(findings)
    return [Api(version, known.kinds) for version in versions], findings


class _Crds(NamedTuple):
    trees: list[Node]
    findings: list[Diagnostic]


def _crd_trees(crds: Sequence[str], read: Callable[[Source], Parsed]) -> _Crds:
    trees: list[Node] = []
    faults: list[Diagnostic] = []
    for crd in crds:
        files = [as_kubernetes_reads(_loaded(entry, Layer.PLATFORM, read)) for entry in expand([Path(crd)])]
        read_findings = [finding for file in files for finding in file.findings]
        found_definitions = [
            tree
            for file in files
            for document in file.documents
            for tree in members(document.root)
            if is_definition(tree)
        ]
        trees += found_definitions
        faults += read_findings
        if not found_definitions and not read_findings:
            faults.append(
                Diagnostic(
                    code=BAD_DEFINITION,
                    message="no CustomResourceDefinition here",
                    span=Span(Source(crd, "", Layer.PLATFORM)),
                    help="pass the file that defines the custom kind, or its directory",
                )
            )
    return _Crds(trees, faults)


def _loaded(entry: Path | Unlisted, layer: Layer, read: Callable[[Source], Parsed]) -> Parsed:
    """Load a file with the size limit of manifests."""
    text = read_file(entry, layer, MAX_MANIFESTS)
    return read(text) if isinstance(text, Source) else text
