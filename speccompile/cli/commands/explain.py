"""`speccompile explain`: show which layer set each value, or what a code means."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TextIO

from speccompile.cli.findings import assign_severities, paint_for, print_findings, report_skipped, severities_of
from speccompile.cli.inputs import flags_of
from speccompile.cli.options import (
    COMMANDS,
    Commands,
    add_command,
    add_findings,
    add_format,
    add_inputs,
    add_paths,
    known_code,
    path,
)
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.explain import Explanation
from speccompile.files.call_inputs import CallError, Inputs, settle
from speccompile.files.find import SUFFIXES, identity
from speccompile.files.load_admin_config import setting_for
from speccompile.files.run_files import run_files
from speccompile.files.write_report import Report, write_report
from speccompile.model.diagnostic import quote
from speccompile.model.diagnostic_codes import Code
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.key_path import format_path, parse_path
from speccompile.model.severity import STRICT
from speccompile.report.explain_html import as_page
from speccompile.report.explain_json import as_explained_json
from speccompile.report.explain_text import as_explained_text
from speccompile.schema.bundled import bundled_codes
from speccompile.schema.suggestions import near
from speccompile.terminal.progress import counted
from speccompile.terminal.style import Paint

DONE, INPUT = 0, 1
_PAGE_MARKER = '<meta name="generator" content="speccompile">'
"""Identifies a page that `--html` may overwrite."""
_EXAMPLES = """\
examples:
  speccompile explain run.yaml                         who set each line, and which values it overrode
  speccompile explain run.yaml nodeSelector            one part; the end of its path is enough
  speccompile explain run.yaml 'limits["nvidia.com/gpu"]'
  speccompile explain runs/ --html report.html         a browsable page for one or many runs
  speccompile explain run.yaml --format json | jq      for other programs
  speccompile explain --code schema/unknown-key        what a diagnostic code means
"""


def add_explain(commands: Commands) -> None:
    """Add the `explain` command."""
    parser = add_command(commands, "explain", COMMANDS["explain"].summary, _EXAMPLES)
    parser.set_defaults(run=run_explain)
    add_paths(
        parser,
        "a file, a directory or - for standard input (default: the runs of the project); "
        "or a path within the manifests, such as spec.replicas",
    )
    add_inputs(parser)
    parser.add_argument("--html", metavar="FILE", type=path, help="write a self-contained HTML page; - prints it")
    parser.add_argument("--code", metavar="CODE", type=known_code, help="explain a diagnostic code and exit")
    add_format(parser, ("text", "json"), "how to print the explanation")
    add_findings(parser)


def run_explain(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Run the command; the explanation goes to stdout or into the page, findings to stderr."""
    files, fields = _split(arguments.paths)
    code = INPUT
    try:
        _refuse_contradictions(arguments, fields)
        if arguments.code:
            stdout.write("\n".join(_code_lines(bundled_codes()[arguments.code], paint_for(stdout))))
            return DONE
        inputs = settle(flags_of(arguments)._replace(paths=files))
        code = _explain(arguments, fields, inputs, stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        print_findings(
            assign_severities((), severities_of(arguments), stopping=error.diagnostics),
            stderr,
            quiet=arguments.quiet,
            verbose=arguments.verbose,
        )
    return code


def _refuse_contradictions(arguments: argparse.Namespace, fields: Sequence[str]) -> None:
    """Raise CallError if an argument would have no effect together with another."""
    as_json = ["--format json"] if arguments.format == "json" else []
    page = ["--html"] if arguments.html else []
    conflicts = (
        (arguments.code, "--code", [*map(quote, arguments.paths), *page, *as_json]),
        (arguments.html, "--html", [*map(quote, fields), *as_json]),
    )
    for is_set, option, others in conflicts:
        if is_set and others:
            raise CallError(f"{option} cannot be combined with {others[0]}")


def _explain(
    arguments: argparse.Namespace, fields: Sequence[str], inputs: Inputs, stdout: TextIO, stderr: TextIO
) -> int:
    setting = setting_for(inputs)
    files = counted(run_files(inputs), len(inputs.runs), stderr)
    results = list(compile_files(files, setting))
    compilations = [result for result in results if not isinstance(result, CompileError)]
    skipped = len(results) - len(compilations)
    run_findings = [finding for result in results for finding in result.diagnostics]
    stopping = list(setting.findings)
    if skipped and not compilations:
        # Without any run to explain, errors of runs stay errors whatever their severity is set to.
        stopping, run_findings = [*stopping, *run_findings], []
    findings = assign_severities(run_findings, severities_of(arguments, inputs.severity, STRICT), stopping=stopping)
    print_findings(findings, stderr, quiet=arguments.quiet, verbose=arguments.verbose)
    if has_errors(findings):
        return INPUT
    report_skipped(skipped, stderr)
    if arguments.html:
        page = Report(as_page(compilations), arguments.html, _PAGE_MARKER)
        return write_report(page, inputs.runs, stdout, stderr)
    explained = _select_parts(compilations, fields)
    is_json = arguments.format == "json"
    stdout.write(as_explained_json(explained) if is_json else _as_text(explained, paint_for(stdout)))
    return DONE


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate file names from paths within manifests; an argument that exists or looks like a file is a file."""

    def is_field(text: str) -> bool:
        if text == "-" or text.endswith(SUFFIXES) or "/" in text.partition("[")[0] or identity(Path(text)):
            return False
        try:
            return bool(parse_path(text))
        except ValueError:
            return False

    fields = [text for text in arguments if is_field(text)]
    return [text for text in arguments if text not in fields], fields


_Explained = list[tuple["Compiled", Sequence["Explanation"]]]


def _select_parts(compilations: Sequence[Compiled], fields: Sequence[str]) -> _Explained:
    """The explanations of each run; with fields, only those parts, and only runs that have one of them."""
    whole: _Explained = [(compiled, compiled.explain()) for compiled in compilations]
    if not fields:
        return whole
    paths = {field: parse_path(field) for field in fields}
    parts_by_run = [
        {
            field: [part for explanation in explanations for part in explanation.matching(path)]
            for field, path in paths.items()
        }
        for _, explanations in whole
    ]
    for field in paths:
        if not any(parts[field] for parts in parts_by_run):
            raise CallError(_no_such_path(field, whole))
    selected = [(compiled, [*chain(*parts.values())]) for (compiled, _), parts in zip(whole, parts_by_run, strict=True)]
    return [(compiled, parts) for compiled, parts in selected if parts]


def _no_such_path(field: str, whole: _Explained) -> str:
    last = parse_path(field)[-1]
    lines = (line for _, explanations in whole for explanation in explanations for line in explanation.lines)
    names = {step: None for line in lines for step in line.path if isinstance(step, str)}
    suggestion = near(str(last), names) if last not in names else None
    hint = f"; did you mean {quote(format_path((suggestion,)))}?" if suggestion else ""
    return f"{quote(field)} is neither a file nor a path in a manifest{hint}"


def _as_text(explained: _Explained, paint: Paint) -> str:
    return "---\n".join(as_explained_text(compiled, parts, paint) for compiled, parts in explained)


def _code_lines(code: Code, paint: Paint) -> Iterator[str]:
    yield f"{paint(f'{code.severity}[{code.name}]', code.severity)}"
    yield ""
    yield from textwrap.wrap(code.means, 100)
    for title, example in (("bad", code.bad), ("good", code.good)):
        yield ""
        yield paint(f"{title}:", "title")
        yield from (f"  {line}".rstrip() for line in example.rstrip("\n").split("\n"))
    yield ""
