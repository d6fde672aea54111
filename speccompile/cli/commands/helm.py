"""`speccompile helm`: a post-renderer for Helm."""

from __future__ import annotations

import argparse
from typing import TextIO

from speccompile.cli.options import COMMANDS, Commands, add_command, add_findings, add_inputs
from speccompile.cli.piped import piped, settled, told
from speccompile.files.call_inputs import CallError
from speccompile.files.load_admin_config import read_setting
from speccompile.integrations.helm_postrender import post_render
from speccompile.model.findings import CompileError, has_errors

DONE, INPUT = 0, 1
_EXAMPLES = """\
examples:
  speccompile helm --profiles profiles/ < rendered.yaml
  helm template chart/ | speccompile helm              to try it without Helm's knowing
  helm plugin install contrib/helm                     Helm 4 takes plugins only
  helm template chart/ --post-renderer speccompile --post-renderer-args --strict
  helm3 template chart/ --post-renderer contrib/helm/speccompile-postrender
"""


def add_helm(commands: Commands) -> None:
    """Gives the command line its `helm`."""
    parser = add_command(commands, "helm", COMMANDS["helm"].what, _EXAMPLES)
    parser.set_defaults(run=run_helm)
    add_inputs(parser)
    add_findings(parser, "values of a run that a profile or the platform changes are errors")


def run_helm(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; with errors nothing goes to stdout."""
    try:
        inputs = settled(arguments.profiles, arguments.platform, arguments.project, arguments.templates)
        setting = read_setting(inputs.profiles, inputs.platform, inputs.templates)
        text, made = post_render(piped().text, setting)
    except CallError as error:
        arguments.refuse(str(error))
        return INPUT
    except CompileError as error:
        told(arguments, None, (), error.diagnostics, stderr)
        return INPUT
    if has_errors(told(arguments, inputs, made.findings, (*setting.findings, *made.stopping), stderr)):
        return INPUT
    stdout.write(text)
    return DONE
