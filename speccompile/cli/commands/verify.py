"""`speccompile verify`: check manifests against Kubernetes API schemas."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from speccompile.cli.findings import (
    judged,
    paint_for,
    report_success,
    severities_of,
    stream_for,
    tell,
    tell_left_out,
)
from speccompile.cli.inputs import flags_of
from speccompile.cli.objects import compiled_objects
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
from speccompile.files.load_admin_config import read_setting
from speccompile.files.read import MAX_MANIFESTS, expand, read_file
from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.findings import CompileError, has_errors, stop_if_any
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.redaction import Hidden, hidden_parts, without_values
from speccompile.model.severity import STRICT
from speccompile.model.source import Layer, Source, Span
from speccompile.report.formats import TEXT
from speccompile.verify.crds import BAD_DEFINITION, add_schema_faults, definitions, is_definition
from speccompile.verify.documents import parse_quickly
from speccompile.verify.kubectl_scalars import as_kubernetes_reads
from speccompile.verify.kubernetes_api import in_version_order, known_version, near_versions, versions
from speccompile.verify.table import version_table
from speccompile.verify.verify import Api, LocatedObject, VerifyResult, findings, verify_object
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

DONE, INPUT = 0, 1
_INSTALL = "the API schemas are not installed; add them with: pip install 'speccompile[verify]'"
_EXAMPLES = """\
examples:
  speccompile verify                                   all runs that speccompile.yaml names
  speccompile verify runs/ --kubernetes 1.31 --kubernetes 1.33
  speccompile verify manifests/ --crd crds/            any manifests, custom kinds among them
  helm template chart | speccompile verify -

A document with an apiVersion is a manifest, unless that is speccompile's own; any other is a run.
Needs the extra: pip install 'speccompile[verify]'
"""


def add_verify(commands: Commands) -> None:
    """Gives the command line its `verify`."""
    parser = add_command(commands, "verify", COMMANDS["verify"].what, _EXAMPLES)
    parser.set_defaults(run=run_verify)
    add_paths(
        parser,
        "runs or manifests: a file, a directory, or - for standard input; without it, the runs of the project",
    )
    parser.add_argument(
        "--kubernetes",
        action="append",
        default=[],
        metavar="VERSION",
        help="a version, such as 1.33 (repeatable); without it, those of the project file, or the newest known",
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
    add_findings(parser, "values of a run that a profile or the platform changes are errors")


class _Answer(NamedTuple):
    """What was verified, and all that was found on the way."""

    verdicts: Sequence[VerifyResult] = ()
    findings: Sequence[Diagnostic] = ()
    stopping: Sequence[Diagnostic] = ()
    """What there is no way round; errors among it are errors, whatever the call makes of their codes."""
    left_out: int = 0


def run_verify(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; the table goes to stdout and findings to stderr, or to stdout if for programs."""
    answer, severities = _Answer(), severities_of(arguments)
    versions: tuple[str, ...] = ()
    try:
        inputs = settle(flags_of(arguments))
        severities = severities_of(arguments, inputs.severity, STRICT)
        versions = _versions(arguments.kubernetes, inputs)
        answer = _answer(arguments, inputs, versions, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except ModuleNotFoundError as error:
        if error.name != "kubernetes_validate":
            raise
        arguments.refuse(_INSTALL)
    except CompileError as error:
        answer = _Answer(stopping=error.diagnostics)
    findings = judged(answer.findings, severities, stopping=answer.stopping)
    tell(findings, stream_for(arguments.format, stdout, stderr), arguments.format, quiet=arguments.quiet)
    tell_left_out(answer.left_out if not has_errors(findings) else 0, stderr)
    if arguments.format == TEXT and answer.verdicts:
        table = version_table(answer.verdicts, versions, severities, paint_for(stdout))
        stdout.write(table.text)
        if table.is_valid and not has_errors(findings):
            report_success(table.summary, arguments, stderr)
        else:
            stdout.write(f"\n{table.summary}\n" if table.text else f"{table.summary}\n")
    return INPUT if has_errors(findings) else DONE


def _versions(given: Sequence[str], inputs: Inputs) -> tuple[str, ...]:
    """The versions to verify against, oldest first; raises for one that there are no schemas of."""
    wanted = given or [*inputs.kubernetes]
    unknown = [text for text in wanted if known_version(text) is None]
    told = {text: f"there are no API schemas of Kubernetes {quote(text)}" for text in unknown}
    if unknown and given:
        raise CallError(f"{told[unknown[0]]}; there are those of {', '.join(near_versions(unknown[0]))}")
    if unknown:
        raise CompileError(
            Diagnostic(
                code="api/unknown-version",
                message=told[text],
                span=inputs.kubernetes[text],
                path=("kubernetes", [*inputs.kubernetes].index(text)),
                help=f"the nearest that there are schemas of is {near_versions(text)[0]}",
            )
            for text in unknown
        )
    return in_version_order(known_version(text) or text for text in wanted or versions()[-1:])


def _answer(arguments: argparse.Namespace, inputs: Inputs, versions: Sequence[str], stderr: TextIO) -> _Answer:
    apis, found = _apis(arguments.crd, versions)
    setting = read_setting(inputs.profiles, inputs.platform, inputs.templates)
    ours = compiled_objects(inputs, setting, stderr)
    verdicts: list[VerifyResult] = []
    for one in ours.given:
        told = verify_object(LocatedObject(one.tree, one.place), apis)
        verdicts.append(add_schema_faults(told) if one.run is None else told)
    found += (*ours.findings, *(finding for told in verdicts for finding in findings(told)))
    # What is wrong with profiles is no matter of manifests that come from none.
    stopping = setting.findings if ours.runs else ()
    return _Answer(verdicts, [*without_values(found, ours.hidden)], stopping, ours.left_out)


def _apis(crds: Sequence[str], versions: Sequence[str]) -> tuple[list[Api], list[Diagnostic]]:
    """The API of each version with the custom kinds; raises everything wrong with the definitions of these."""
    for read in (parse_quickly, parse):
        trees, faults, hidden = _crd_trees(crds, read)
        known = definitions(trees, Api(versions[-1]))
        told = [*without_values((*faults, *known.findings), hidden)]
        # What is read quickly does not know its line; what was not read at all has none.
        if all(found.span and (found.span.line or not found.span.source.text) for found in told):
            break
    stop_if_any(told)
    return [Api(version, known.kinds) for version in versions], told


class _Crds(NamedTuple):
    trees: list[Node]
    findings: list[Diagnostic]
    hidden: dict[Source, Hidden]


def _crd_trees(crds: Sequence[str], read: Callable[[Source], Parsed]) -> _Crds:
    trees: list[Node] = []
    faults: list[Diagnostic] = []
    hidden: dict[Source, Hidden] = {}
    for crd in crds:
        files = [as_kubernetes_reads(_loaded(entry, Layer.PLATFORM, read)) for entry in expand([Path(crd)])]
        told = [finding for file in files for finding in file.findings]
        found = [
            tree
            for file in files
            for document in file.documents
            for tree in members(document.root)
            if is_definition(tree)
        ]
        for file in files:
            hidden |= hidden_parts(*file)
        trees += found
        faults += told
        if not found and not told:
            faults.append(
                Diagnostic(
                    code=BAD_DEFINITION,
                    message="there is no CustomResourceDefinition here",
                    span=Span(Source(crd, "", Layer.PLATFORM)),
                    help="name the file that defines the custom kind, or a directory with it",
                )
            )
    return _Crds(trees, faults, hidden)


def _loaded(entry: Path | Unlisted, layer: Layer, read: Callable[[Source], Parsed]) -> Parsed:
    """As `load`, for what others wrote."""
    text = read_file(entry, layer, MAX_MANIFESTS)
    return read(text) if isinstance(text, Source) else text
