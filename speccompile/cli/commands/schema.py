"""`speccompile schema`: print the JSON Schema of a kind of file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from os.path import relpath
from pathlib import Path
from typing import TextIO

from speccompile.cli.findings import print_findings
from speccompile.cli.options import COMMANDS, Commands, add_command, add_inputs, path
from speccompile.compiler.bundled_library import library_of
from speccompile.compiler.documents.profiles import choose
from speccompile.compiler.documents.target_fields import target_findings
from speccompile.compiler.policy import DEFAULT_PROFILE
from speccompile.editor_schema.export import schema_text
from speccompile.editor_schema.narrow import narrowed_text
from speccompile.files.admin_texts import read_templates
from speccompile.files.call_inputs import CallError, Flags, Inputs, settle
from speccompile.files.find import identity
from speccompile.files.load_admin_config import setting_for
from speccompile.files.write_report import Report, write_report
from speccompile.model.findings import CompileError, stop_if_any
from speccompile.model.input_texts import TemplateFile
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import Library

DONE, INPUT = 0, 1
_NOUNS = ("run", "profile", "platform", "project")
_MARKER = '"$id": "https://speccompile.dev/schemas/editor/'
_EXAMPLES = """\
examples:
  speccompile schema run                               the JSON Schema of runs, for editors
  speccompile schema run -o .speccompile/run.schema.json
  speccompile schema run --profile 1xa100              only what this profile lets a run set
  speccompile schema run --profile default             the same for runs without a profile
  speccompile schema profile

to let an editor check and complete a file, make this its first line, with the path relative to the file:
  # yaml-language-server: $schema=../.speccompile/run.schema.json
"""


def add_schema(commands: Commands) -> None:
    """Add the `schema` command to the command line."""
    parser = add_command(commands, "schema", COMMANDS["schema"].summary, _EXAMPLES)
    parser.set_defaults(run=run_schema)
    parser.add_argument("noun", metavar="KIND", choices=_NOUNS, help=f"the kind of file: {', '.join(_NOUNS)}")
    parser.add_argument("--profile", metavar="ID", help="only what this profile lets a run set")
    add_inputs(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=path, help="write to FILE; - for stdout")


def run_schema(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Print or write the schema, report findings on stderr, and return the exit code."""
    try:
        _refuse_contradictions(arguments)
        if arguments.profile is not None:
            text = _narrowed(arguments)
        else:
            text = schema_text(arguments.noun, _library(arguments.templates))
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        print_findings(error.diagnostics, stderr)
        return INPUT
    if arguments.output:
        return write_report(Report(text, arguments.output, _MARKER), (), stdout, stderr)
    stdout.write(text)
    return DONE


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raise CallError for an option that would have no effect."""
    if arguments.profile is None:
        unused = [name for name in ("profiles", "platform", "project") if getattr(arguments, name)]
        if unused:
            raise CallError(f"--{unused[0]} needs --profile ID; add it, or remove --{unused[0]}")
    elif arguments.noun != "run":
        raise CallError("--profile applies to `schema run` only; remove it, or write `schema run`")


def _library(templates: str | None) -> Library:
    """The bundled library with an admin's targets, if any; raises CompileError if these are faulty."""
    read = tuple(read_templates(Path(templates))) if templates else ()
    stop_if_any(finding for one in read if not isinstance(one, TemplateFile) for finding in one.findings)
    library = library_of(tuple(one for one in read if isinstance(one, TemplateFile)))
    stop_if_any(target_findings(library))
    return library


def _narrowed(arguments: argparse.Namespace) -> str:
    flags = Flags(profiles=arguments.profiles, platform=arguments.platform, project=arguments.project)
    inputs = settle(flags._replace(templates=arguments.templates), wants_runs=False)
    setting = setting_for(inputs)
    stop_if_any(setting.findings)
    wanted = Node(arguments.profile, Span(Source("<command line>", "", Layer.PROFILE)))
    # `default` means runs without a profile, whether or not a profile of that id exists.
    profile, unknown = choose(None if arguments.profile == DEFAULT_PROFILE else wanted, setting.profiles)
    stop_if_any(unknown)
    return narrowed_text(profile, setting, _relative_names(inputs))


def _relative_names(inputs: Inputs) -> Mapping[str, str]:
    """The files relative to the project, so that the schema does not depend on the current directory."""
    if identity(inputs.project) is None:
        return {}
    return {str(file): Path(relpath(file, inputs.project.parent)).as_posix() for file in inputs.files}
