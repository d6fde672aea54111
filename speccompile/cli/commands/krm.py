"""`speccompile krm`: a KRM function for Kustomize and kpt."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from speccompile.cli.inputs import fixed_inputs, flags_of
from speccompile.cli.options import COMMANDS, Commands, add_command, add_findings, add_inputs
from speccompile.cli.piped import read_piped, report_piped, resolve_piped
from speccompile.compiler.documents.admin_config import Setting
from speccompile.files.call_inputs import CallError, Flags, Inputs
from speccompile.files.load import load
from speccompile.files.load_admin_config import setting_with
from speccompile.files.read import expand
from speccompile.integrations.embedded_runs import EmbeddedRun, compile_embedded
from speccompile.integrations.krm_function import (
    Config,
    Resources,
    document_of,
    read_config,
    read_resources,
    results_of,
    with_manifests,
    with_results,
)
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.node import Node
from speccompile.model.source import Layer
from speccompile.schema.library import schema_library
from speccompile.yaml_text.parsed import Parsed

DONE, INPUT = 0, 1
_EXAMPLES = """\
examples:
  kustomize build --enable-alpha-plugins --enable-exec examples/kustomize/generator
  kustomize build --enable-alpha-plugins --enable-exec examples/kustomize/transformer
  speccompile krm --profiles profiles/ < resourcelist.yaml

Replaces the runs in the ResourceList on stdin with their manifests.
"""


def add_krm(commands: Commands) -> None:
    """Add the command `krm`."""
    parser = add_command(commands, "krm", COMMANDS["krm"].summary, _EXAMPLES)
    parser.set_defaults(run=run_krm)
    add_inputs(parser)
    add_findings(parser)


def run_krm(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Run the function and return the exit code; with errors, print the resources unchanged, with results."""
    resources = None
    try:
        resources = read_resources(read_piped(), schema_library())
        return _compile(arguments, resources, stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        findings = report_piped(arguments, None, (), error.diagnostics, stderr)
        if resources is not None:
            stdout.write(with_results(resources, results_of(findings, ())))
    return INPUT


def _compile(arguments: argparse.Namespace, resources: Resources, stdout: TextIO, stderr: TextIO) -> int:
    config = read_config(resources.config, fixed_inputs(arguments), schema_library())
    arguments.strict = arguments.strict or config.strict
    inputs = resolve_piped(_flags(arguments, config))
    setting = _setting(config, inputs)
    others = tuple(_others(resources, config))
    runs = (*resources.runs.values(), *others)
    compiled = compile_embedded(runs, setting)
    findings = report_piped(arguments, inputs, compiled.findings, (*setting.findings, *compiled.stopping), stderr)
    results = results_of(findings, runs)
    if has_errors(findings):
        stdout.write(with_results(resources, results))
        return INPUT
    replacements = dict(zip(resources.runs, compiled.manifests, strict=False))
    added = [manifest for manifests in compiled.manifests[len(replacements) :] for manifest in manifests]
    stdout.write(with_manifests(resources, replacements, added, results))
    return DONE


def _flags(arguments: argparse.Namespace, config: Config) -> Flags:
    """The files of a call: those of the command line, then those that the function's configuration names."""
    flags = flags_of(arguments)
    return flags._replace(
        profiles=flags.profiles or [path for path in config.profiles if isinstance(path, str)],
        platform=flags.platform or (config.platform if isinstance(config.platform, str) else None),
        project=flags.project or config.project,
        untrusted=[name for name in ("profiles", "platform", "project") if not getattr(flags, name)],
    )


def _setting(config: Config, inputs: Inputs) -> Setting:
    """Read profiles and platform, inline ones of the configuration included."""
    chosen = config.profiles or tuple(map(str, inputs.profiles))
    profiles = [parsed for one in chosen for parsed in _files(one, Layer.PROFILE)]
    inline = document_of(config.platform, Layer.PLATFORM) if isinstance(config.platform, Node) else None
    return setting_with(profiles, inputs, inline, trusts_profiles=inputs.trusts_profiles)


def _others(resources: Resources, config: Config) -> Iterator[EmbeddedRun]:
    """The runs of the configuration, which are not among the items."""
    if resources.config_run:
        yield resources.config_run
    for run in config.runs:
        yield from map(EmbeddedRun, _files(run, Layer.RUN))


def _files(source: str | Node, layer: Layer) -> Iterator[Parsed]:
    """Parse the files of a path, or an inline document."""
    if isinstance(source, str):
        yield from (load(file, layer) for file in expand([Path(source)]))
    else:
        yield document_of(source, layer)
