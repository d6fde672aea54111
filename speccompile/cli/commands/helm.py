"""`speccompile helm`: a post-renderer for Helm."""

from __future__ import annotations

import argparse
from typing import TextIO

from speccompile.cli.inputs import flags_of
from speccompile.cli.options import COMMANDS, Commands, add_command, add_findings, add_inputs
from speccompile.cli.piped import read_piped, report_piped, resolve_piped
from speccompile.files.call_inputs import CallError
from speccompile.files.load_admin_config import setting_for
from speccompile.integrations.helm_postrender import post_render
from speccompile.model.findings import CompileError, has_errors

DONE, INPUT = 0, 1
_EXAMPLES = """\
examples:
  speccompile helm --profiles profiles/ < rendered.yaml
  helm template chart/ | speccompile helm              try it in a pipe
  helm plugin install contrib/helm                     for Helm 4, which only takes plugins
  helm template chart/ --post-renderer speccompile --post-renderer-args --strict
  helm3 template chart/ --post-renderer contrib/helm/speccompile-postrender

Replaces the runs on stdin with their manifests, and leaves everything else unchanged.
"""


def add_helm(commands: Commands) -> None:
    """Add the command `helm`."""
    parser = add_command(commands, "helm", COMMANDS["helm"].summary, _EXAMPLES)
    parser.set_defaults(run=run_helm)
    add_inputs(parser)
    add_findings(parser)


def run_helm(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Replace the runs on stdin with their manifests, and return the exit code; with errors, print no manifests."""
    try:
        inputs = resolve_piped(flags_of(arguments))
        setting = setting_for(inputs)
        text, compiled = post_render(read_piped().text, setting)
    except CallError as error:
        arguments.refuse(str(error))
        return INPUT
    except CompileError as error:
        report_piped(arguments, None, (), error.diagnostics, stderr)
        return INPUT
    stopping = (*setting.findings, *compiled.stopping)
    if has_errors(report_piped(arguments, inputs, compiled.findings, stopping, stderr)):
        return INPUT
    stdout.write(text)
    return DONE
