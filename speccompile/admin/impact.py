"""Effects of changed profiles on runs, grouped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import tee
from typing import Any

from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled, Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.entities import as_exported, split_entities, with_entities
from speccompile.diff.manifests import ManifestChange, difference
from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.key_path import format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.object_names import object_name
from speccompile.yaml_text.parsed import Parsed

SAME, BROKEN, CHANGED = 0, 1, 4
"""Exit codes."""
MAX_LISTED = 10
"""Runs listed per group; for the others, the text shows only their number."""
_MAX_CHARS = 300


class RunLabel(NamedTuple):
    """The name, project and position of a run. A file that is not a run has no name."""

    name: str
    project: str
    where: str


class Outcome(NamedTuple):
    """The results of one run under the old and the new profiles."""

    label: RunLabel
    old: Result
    new: Result


class Changed(NamedTuple):
    """A run whose manifests change."""

    label: RunLabel
    changes: tuple[ManifestChange, ...]


class ImpactGroup(NamedTuple):
    """Runs with the same changes: removals first, then additions, then the rest."""

    summary: tuple[str, ...]
    runs: tuple[Changed, ...]


class Broken(NamedTuple):
    """A run that does not compile under the new profiles, and its findings."""

    label: RunLabel
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """All effects of a change of profiles; every run appears once, in the original order."""

    unchanged: tuple[RunLabel, ...]
    groups: tuple[ImpactGroup, ...]
    """Largest first."""
    fixed: tuple[RunLabel, ...]
    """Runs that compile under the new profiles only."""
    broken: tuple[Broken, ...]
    """Runs that compile under the old profiles only."""
    still_broken: tuple[Broken, ...]

    @property
    def exit_code(self) -> int:
        """0 if nothing changes, 4 if something does, 1 if a run does not compile under the new profiles."""
        if self.broken or self.still_broken:
            return BROKEN
        return CHANGED if self.groups or self.fixed else SAME


def outcomes(files: Iterable[Parsed], old: Setting, new: Setting) -> Iterator[Outcome]:
    """Compile each run under both settings, in order, with one file in memory at a time."""
    for_old, for_new, for_labels = tee(files, 3)
    results = zip(compile_files(for_old, old), compile_files(for_new, new), strict=True)
    labels = (label for parsed in for_labels for label in _labels(parsed, new))
    for label, (before, after) in zip(labels, results, strict=True):
        compiled = next((one for one in (after, before) if isinstance(one, Compiled)), None)
        full_label = RunLabel(compiled.name, compiled.project, label.where) if compiled else label
        yield Outcome(full_label, before, after)


def _labels(parsed: Parsed, setting: Setting) -> Iterator[RunLabel]:
    """The labels of runs before they are compiled, one for each result of `compile_files`."""
    parsed = as_exported(parsed)
    runs, others = split_entities(parsed.documents)
    findings = parsed.findings
    if others and not has_errors(findings):
        findings = with_entities(setting.entities, others, setting.library)[1]
    if has_errors(findings):
        spans = (finding.span for finding in findings if finding.span)
        yield RunLabel("", "", next((span.source.name for span in spans), ""))
        return
    for document in runs:
        name, project = (_text(document.root, key) for key in ("name", "project"))
        yield RunLabel(name, project or "default", document.root.span.label)


def _text(root: Node, key: str) -> str:
    nodes = (root.at(path) for path in ((key,), ("metadata", key)))
    return next((str(node.value) for node in nodes if node and isinstance(node.value, str)), "")


def group_outcomes(results: Iterable[Outcome]) -> Impact:
    """Group the outcomes of all runs by their changes."""
    unchanged: list[RunLabel] = []
    fixed: list[RunLabel] = []
    changed: list[Changed] = []
    broken: list[Broken] = []
    still_broken: list[Broken] = []
    for label, old, new in results:
        if isinstance(new, CompileError):
            (still_broken if isinstance(old, CompileError) else broken).append(Broken(label, new.diagnostics))
        elif isinstance(old, CompileError):
            fixed.append(label)
        else:
            before, after = ([manifest.data for manifest in compiled.manifests] for compiled in (old, new))
            if changes := difference(before, after, run_name=object_name(label.name)):
                changed.append(Changed(label, changes))
            else:
                unchanged.append(label)
    return Impact(
        unchanged=tuple(unchanged),
        groups=_groups(changed),
        fixed=tuple(fixed),
        broken=tuple(broken),
        still_broken=tuple(still_broken),
    )


def _groups(changed: Iterable[Changed]) -> tuple[ImpactGroup, ...]:
    grouped: dict[tuple[str, ...], list[Changed]] = {}
    for run in changed:
        summaries = sorted({(_rank(change), change.summary) for change in run.changes})
        grouped.setdefault(tuple(dict.fromkeys(summary for _, summary in summaries)), []).append(run)
    groups = (ImpactGroup(summary, tuple(runs)) for summary, runs in grouped.items())
    return tuple(sorted(groups, key=lambda group: (-len(group.runs), group.summary)))


def _rank(change: ManifestChange) -> int:
    """Removals before additions before other changes."""
    return 0 if change.after is None else 1 if change.before is None else 2


def impact_text(impact: Impact) -> str:
    """The number of runs in each group, their changes and their names."""
    blocks = [
        *([[f"{len(impact.unchanged)} unchanged"]] if impact.unchanged else []),
        *(
            [f"{_counted(group.runs)}:", *(f"  {change}" for change in group.summary), *_listed(group.runs)]
            for group in impact.groups
        ),
        *_section("{} now {compile}", impact.fixed),
        *_section("{} no longer {compile}", impact.broken),
        *_section("{} still {do} not compile", impact.still_broken),
    ]
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks) or "no runs\n"


def _section(words: str, runs: Sequence[RunLabel | Broken]) -> Iterator[list[str]]:
    if runs:
        verbs = ("compiles", "does") if len(runs) == 1 else ("compile", "do")
        heading = words.format(_counted(runs), compile=verbs[0], do=verbs[1])
        yield [heading, *_listed(runs)]


def _counted(runs: Sequence[object]) -> str:
    return f"{len(runs)} run{'s' * (len(runs) != 1)}"


def _listed(runs: Sequence[RunLabel | Changed | Broken]) -> Iterator[str]:
    for run in runs[:MAX_LISTED]:
        yield f"  - {_label_text(run if isinstance(run, RunLabel) else run.label)}"
        if isinstance(run, Broken):
            yield from (f"    {_reason(error)}" for error in run.diagnostics if error.severity is Severity.ERROR)
    if len(runs) > MAX_LISTED:
        yield f"  - and {len(runs) - MAX_LISTED} more"


def _label_text(label: RunLabel) -> str:
    where = _printable(label.where)
    return f"{_printable(label.project)}/{_printable(label.name)} ({where})" if label.name else where


def _reason(error: Diagnostic) -> str:
    position = f" ({_printable(error.span.label)})" if error.span else ""
    return f"{error.severity}[{error.code}]: {error.message}{position}"


def _printable(text: str) -> str:
    return quote(text, _MAX_CHARS)[1:-1]


def impact_data(impact: Impact) -> dict[str, Any]:
    """The impact as JSON data, deterministic.

    exit_code: 0, 4 or 1, the exit code of the command
    counts: number of runs that are `unchanged`, `changed`, `fixed`, `broken`, `still_broken`
    unchanged, fixed: runs, each with `name`, `project`, `where`
    groups: each with `summary`, the changes in words, and `runs`: each as above with its `changes`: `kind` and `name`
        of the object, `path` as a list of steps, `before` and `after` (null if absent), `summary`
    broken, still_broken: runs with `diagnostics`: each `severity`, `code`, `message`, `where`, `path`, `help`
    """
    return {
        "exit_code": impact.exit_code,
        "counts": {
            "unchanged": len(impact.unchanged),
            "changed": sum(len(group.runs) for group in impact.groups),
            "fixed": len(impact.fixed),
            "broken": len(impact.broken),
            "still_broken": len(impact.still_broken),
        },
        "unchanged": [run._asdict() for run in impact.unchanged],
        "groups": [
            {
                "summary": list(group.summary),
                "runs": [
                    {**run.label._asdict(), "changes": [{**asdict(one), "path": list(one.path)} for one in run.changes]}
                    for run in group.runs
                ],
            }
            for group in impact.groups
        ],
        "fixed": [run._asdict() for run in impact.fixed],
        "broken": [_broken_data(run) for run in impact.broken],
        "still_broken": [_broken_data(run) for run in impact.still_broken],
    }


def _broken_data(run: Broken) -> dict[str, Any]:
    findings = [
        {
            "severity": str(finding.severity),
            "code": finding.code,
            "message": finding.message,
            "where": finding.span.label if finding.span else None,
            "path": format_path(finding.path),
            "help": finding.help,
        }
        for finding in run.diagnostics
    ]
    return {**run.label._asdict(), "diagnostics": findings}
