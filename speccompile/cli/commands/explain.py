"""`speccompile explain`: show which layer set each value, and what a code means."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TextIO

from speccompile.cli.findings import judged, paint_for, severities_of, tell, tell_left_out
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
from speccompile.compiler.compiled import Compiled, Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.explain import Explanation
from speccompile.files.call_inputs import CallError, Inputs, settle
from speccompile.files.find import identity
from speccompile.files.load_admin_config import read_setting
from speccompile.files.run_files import run_files
from speccompile.files.write_report import Report, write_report
from speccompile.model.diagnostic import quote
from speccompile.model.diagnostic_codes import Code
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.key_path import KeyPath, format_path, parse_path
from speccompile.model.severity import STRICT
from speccompile.report.explain_html import as_page
from speccompile.report.explain_json import as_explained_json
from speccompile.report.explain_text import as_answer, as_listing
from speccompile.schema.bundled import bundled_codes
from speccompile.schema.suggestions import near
from speccompile.terminal.progress import counted
from speccompile.terminal.style import Paint

DONE, INPUT = 0, 1
_SIGN = '<meta name="generator" content="speccompile">'
"""By which a page of ours is known."""
_PAGE = "write one page with everything in it, for browsers; - prints it"
_FILES = (".yaml", ".yml", ".json")
_EXAMPLES = """\
examples:
  speccompile explain run.yaml                         who set each line of the manifests, and what lost
  speccompile explain run.yaml nodeSelector            one part of them: the end of its path is enough
  speccompile explain run.yaml 'limits["nvidia.com/gpu"]'
  speccompile explain runs/ --html report.html         a page to click through, for one or many runs
  speccompile explain run.yaml --format json | jq      for programs
  speccompile explain --code schema/unknown-key        what a diagnostic code means
"""


def add_explain(commands: Commands) -> None:
    """Gives the command line its `explain`."""
    parser = add_command(commands, "explain", COMMANDS["explain"].what, _EXAMPLES)
    parser.set_defaults(run=run_explain)
    add_paths(
        parser,
        "a file, a directory or - for standard input (without it, the runs of the project); "
        "or a path inside manifests, such as spec.replicas",
    )
    add_inputs(parser)
    parser.add_argument("--html", metavar="FILE", type=path, help=_PAGE)
    parser.add_argument("--code", metavar="CODE", type=known_code, help="print what a diagnostic code means, and stop")
    add_format(parser, ("text", "json"), "how to print the explanation")
    add_findings(parser, "values of a run that a profile or the platform changes are errors")


def run_explain(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; the explanation goes to stdout, or into the page, and findings to stderr."""
    files, fields = _split(arguments.paths)
    code = INPUT
    try:
        _refuse_contradictions(arguments, fields)
        if arguments.code:
            stdout.write(_meaning(bundled_codes()[arguments.code], paint_for(stdout)))
            return DONE
        inputs = settle(flags_of(arguments)._replace(paths=files))
        code = _explain(arguments, fields, inputs, stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        tell(judged((), severities_of(arguments), stopping=error.diagnostics), stderr, quiet=arguments.quiet)
    return code


def _refuse_contradictions(arguments: argparse.Namespace, fields: Sequence[str]) -> None:
    """Raises CallError if one of the arguments would have no effect beside another."""
    as_json = ["--format json"] if arguments.format == "json" else []
    page = ["--html"] if arguments.html else []
    alone = (
        (arguments.code, "--code tells about a code and nothing else", [*map(quote, arguments.paths), *page, *as_json]),
        (arguments.html, "--html shows whole manifests", [*map(quote, fields)]),
        (arguments.html, "--html is a format of its own", as_json),
    )
    for is_given, reason, others in alone:
        if is_given and others:
            raise CallError(f"{reason}; leave out {others[0]}")


def _explain(
    arguments: argparse.Namespace, fields: Sequence[str], inputs: Inputs, stdout: TextIO, stderr: TextIO
) -> int:
    setting, results = _compiled(inputs, stderr)
    compilations = [result for result in results if not isinstance(result, CompileError)]
    left_out = len(results) - len(compilations)
    found = [finding for result in results for finding in result.diagnostics]
    stopping = list(setting.findings)
    if left_out and not compilations:
        # With nothing left to explain, what is wrong with the runs stops the whole call.
        stopping, found = [*stopping, *found], []
    findings = judged(found, severities_of(arguments, inputs.severity, STRICT), stopping=stopping)
    tell(findings, stderr, quiet=arguments.quiet)
    if has_errors(findings):
        return INPUT
    tell_left_out(left_out, stderr)
    if arguments.html:
        return _write_page(compilations, arguments.html, inputs, stdout, stderr)
    told = _chosen(compilations, fields)
    stdout.write(_as_json(told) if arguments.format == "json" else _as_text(told, paint_for(stdout)))
    return DONE


def _split(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """What names files, and what names a place in manifests: no file of that name, nor of a name like a file's."""

    def is_field(text: str) -> bool:
        if text == "-" or text.endswith(_FILES) or "/" in text.partition("[")[0] or identity(Path(text)):
            return False
        try:
            return bool(parse_path(text))
        except ValueError:
            return False

    fields = [text for text in given if is_field(text)]
    return [text for text in given if text not in fields], fields


def _compiled(inputs: Inputs, stderr: TextIO) -> tuple[Setting, list[Result]]:
    setting = read_setting(inputs.profiles, inputs.platform, inputs.templates)
    files = counted(run_files(inputs), len(inputs.runs), stderr)
    return setting, list(compile_files(files, setting))


Told = list[tuple["Compiled", Sequence["Explanation"]]]


def _chosen(compilations: Sequence[Compiled], fields: Sequence[str]) -> Told:
    """Each compilation with what is to be explained of it; with fields, only those that have one of them."""
    whole: Told = [(compiled, compiled.explain()) for compiled in compilations]
    if not fields:
        return whole
    steps = {field: parse_path(field) for field in fields}
    found = [{field: _parts(told, steps[field]) for field in steps} for _, told in whole]
    for field in steps:
        if not any(parts[field] for parts in found):
            raise CallError(_nowhere(field, whole))
    chosen = [(compiled, [*chain(*parts.values())]) for (compiled, _), parts in zip(whole, found, strict=True)]
    return [(compiled, parts) for compiled, parts in chosen if parts]


def _parts(explanations: Iterable[Explanation], steps: KeyPath) -> list[Explanation]:
    return [part for explanation in explanations for part in explanation.matching(steps)]


def _nowhere(field: str, whole: Told) -> str:
    last = parse_path(field)[-1]
    lines = (line for _, explanations in whole for told in explanations for line in told.lines)
    names = {step: None for line in lines for step in line.path if isinstance(step, str)}
    meant = near(str(last), names) if last not in names else None
    cure = f"; did you mean {quote(format_path((meant,)))}?" if meant else ""
    return f"no manifest has anything at {quote(field)}, and there is no such file{cure}"


def _as_text(told: Told, paint: Paint) -> str:
    texts = (
        as_answer(compiled, parts, paint) if any(part.path for part in parts) else as_listing(compiled, paint)
        for compiled, parts in told
    )
    return "---\n".join(texts)


def _as_json(told: Told) -> str:
    return as_explained_json(told)


def _write_page(compilations: Sequence[Compiled], file: str, inputs: Inputs, stdout: TextIO, stderr: TextIO) -> int:
    return write_report(Report(as_page(compilations), file, _SIGN), inputs.runs, stdout, stderr)


def _meaning(code: Code, paint: Paint) -> str:
    return "\n".join(_meaning_lines(code, paint))


def _meaning_lines(code: Code, paint: Paint) -> Iterator[str]:
    yield f"{paint(f'{code.severity}[{code.name}]', code.severity)}"
    yield ""
    yield from textwrap.wrap(code.means, 100)
    for title, example in (("bad", code.bad), ("good", code.good)):
        yield ""
        yield paint(f"{title}:", "title")
        yield from (f"  {line}".rstrip() for line in example.rstrip("\n").split("\n"))
    yield ""
