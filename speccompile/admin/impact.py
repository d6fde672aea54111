"""Effects of a change of profiles on runs, grouped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import tee
from typing import Any

from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled, Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.diff.manifests import Change, difference
from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.key_path import format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.object_names import object_name
from speccompile.yaml_text.parsed import Parsed

SAME, BROKEN, CHANGED = 0, 1, 4
"""Exit codes."""
MAX_NAMED = 10
"""Runs that the text of a group names; of more, only the number is told."""
_LONGEST = 300
# The verbs that phrases begin with, and as they are said of several runs.
_PLURAL = {"loses": "lose", "gains": "gain"}


class Subject(NamedTuple):
    """A run as people know it: by name, project and where it stands. A file that is no run has no name."""

    name: str
    project: str
    where: str


class Outcome(NamedTuple):
    """What became of one run under the old and under the new setting."""

    subject: Subject
    old: Result
    new: Result


class Changed(NamedTuple):
    """A run that compiles under both settings, to different manifests."""

    subject: Subject
    changes: tuple[Change, ...]


class Group(NamedTuple):
    """Runs to which the same happens: what is lost first, then what is gained, then what else changes."""

    phrases: tuple[str, ...]
    runs: tuple[Changed, ...]


class Broken(NamedTuple):
    """A run that does not compile under the new setting, and why."""

    subject: Subject
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """Everything that a change of setting does, each run in one place; runs keep the order in which they came."""

    unchanged: tuple[Subject, ...]
    groups: tuple[Group, ...]
    """The largest first."""
    mended: tuple[Subject, ...]
    """Runs that compile now and did not before."""
    broken: tuple[Broken, ...]
    """Runs that compiled before."""
    still_broken: tuple[Broken, ...]

    @property
    def exit_code(self) -> int:
        """0 nothing changes, 4 something does, 1 some run does not compile under the new setting."""
        if self.broken or self.still_broken:
            return BROKEN
        return CHANGED if self.groups or self.mended else SAME


def outcomes(files: Iterable[Parsed], old: Setting, new: Setting) -> Iterator[Outcome]:
    """What becomes of each run in the files, in order; no more than one file is held at a time."""
    once, twice, named = tee(files, 3)
    results = zip(compile_files(once, old), compile_files(twice, new), strict=True)
    subjects = (subject for parsed in named for subject in _subjects(parsed))
    for subject, (before, after) in zip(subjects, results, strict=True):
        made = next((one for one in (after, before) if isinstance(one, Compiled)), None)
        yield Outcome(subject if made is None else Subject(made.name, made.project, subject.where), before, after)


def _subjects(parsed: Parsed) -> Iterator[Subject]:
    """What can be said of runs before they compile: one for each that `compile_files` gives a result for."""
    if has_errors(parsed.findings):
        spans = (finding.span for finding in parsed.findings if finding.span)
        yield Subject("", "", next((span.source.name for span in spans), ""))
        return
    for document in parsed.documents:
        name, project = (_told(document.root, key) for key in ("name", "project"))
        yield Subject(name, project or "default", document.root.span.label)


def _told(root: Node, key: str) -> str:
    said = (root.at(path) for path in ((key,), ("metadata", key)))
    return next((str(node.value) for node in said if node and isinstance(node.value, str)), "")


def impact(results: Iterable[Outcome]) -> Impact:
    """What the new setting does to the runs."""
    unchanged: list[Subject] = []
    mended: list[Subject] = []
    changed: list[Changed] = []
    broken: list[Broken] = []
    still_broken: list[Broken] = []
    for subject, old, new in results:
        if isinstance(new, CompileError):
            (still_broken if isinstance(old, CompileError) else broken).append(Broken(subject, new.diagnostics))
        elif isinstance(old, CompileError):
            mended.append(subject)
        elif changes := _changes(subject, old, new):
            changed.append(Changed(subject, changes))
        else:
            unchanged.append(subject)
    return Impact(
        unchanged=tuple(unchanged),
        groups=_groups(changed),
        mended=tuple(mended),
        broken=tuple(broken),
        still_broken=tuple(still_broken),
    )


def _changes(subject: Subject, old: Compiled, new: Compiled) -> tuple[Change, ...]:
    before, after = ([manifest.data for manifest in compiled.manifests] for compiled in (old, new))
    return difference(before, after, own=object_name(subject.name))


def _groups(changed: Iterable[Changed]) -> tuple[Group, ...]:
    grouped: dict[tuple[str, ...], list[Changed]] = {}
    for run in changed:
        phrases = sorted({change.phrase for change in run.changes}, key=_rank)
        grouped.setdefault(tuple(phrases), []).append(run)
    groups = (Group(phrases, tuple(runs)) for phrases, runs in grouped.items())
    return tuple(sorted(groups, key=lambda group: (-len(group.runs), group.phrases)))


def _rank(phrase: str) -> tuple[int, str]:
    verbs = [*_PLURAL]
    first = phrase.partition(" ")[0]
    return (verbs.index(first) if first in verbs else len(verbs), phrase)


def as_text(found: Impact) -> str:
    """The impact for people: how many runs, what happens to them, and which they are."""
    blocks = [
        *([[f"{len(found.unchanged)} unchanged"]] if found.unchanged else []),
        *([*_heading(group), *_listed(group.runs)] for group in found.groups),
        *_section("{} now {compile}, and did not before", found.mended),
        *_section("{} no longer {compile}", found.broken),
        *_section("{} {compile} neither before nor now", found.still_broken),
    ]
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks) or "there are no runs\n"


def _section(words: str, runs: Sequence[Subject | Broken]) -> Iterator[list[str]]:
    if runs:
        heading = words.format(_counted(runs), compile="compiles" if len(runs) == 1 else "compile")
        yield [heading, *_listed(runs)]


def _heading(group: Group) -> Iterator[str]:
    first, *others = group.phrases if len(group.runs) == 1 else map(_in_plural, group.phrases)
    speaks = first.partition(" ")[0] in {*_PLURAL, *_PLURAL.values()}
    yield f"{_counted(group.runs)}{'' if speaks else ':'} {first}"
    yield from (f"  {other}" for other in others)


def _in_plural(phrase: str) -> str:
    verb, space, rest = phrase.partition(" ")
    return f"{_PLURAL.get(verb, verb)}{space}{rest}"


def _counted(runs: Sequence[object]) -> str:
    return f"{len(runs)} run{'s' * (len(runs) != 1)}"


def _listed(runs: Sequence[Subject | Changed | Broken]) -> Iterator[str]:
    for run in runs[:MAX_NAMED]:
        yield f"  - {_called(run if isinstance(run, Subject) else run.subject)}"
        if isinstance(run, Broken):
            yield from (f"    {_reason(found)}" for found in run.diagnostics if found.severity is Severity.ERROR)
    if len(runs) > MAX_NAMED:
        yield f"  - and {len(runs) - MAX_NAMED} more"


def _called(subject: Subject) -> str:
    where = _printable(subject.where)
    return f"{_printable(subject.project)}/{_printable(subject.name)} ({where})" if subject.name else where


def _reason(found: Diagnostic) -> str:
    place = f" ({_printable(found.span.label)})" if found.span else ""
    return f"{found.severity}[{found.code}]: {found.message}{place}"


def _printable(text: str) -> str:
    return quote(text, _LONGEST)[1:-1]


def as_data(found: Impact) -> dict[str, Any]:
    """The impact for machines, as JSON data; lists keep their order, and equal impacts give equal data.

    exit_code: 0, 4 or 1, as the command exits
    counts: how many runs are `unchanged`, `changed`, `mended`, `broken`, `still_broken`
    unchanged, mended: runs, each `name`, `project`, `where`
    groups: each `phrases`, the lines for people, and `runs`: each as above, with its `changes`: each `kind`
        and `name` of the object, `path` as a list of steps, `before` and `after` (null where nothing stands), `phrase`
    broken, still_broken: runs, each with its `diagnostics`: each `severity`, `code`, `message`, `where`, `path`, `help`
    """
    return {
        "exit_code": found.exit_code,
        "counts": {
            "unchanged": len(found.unchanged),
            "changed": sum(len(group.runs) for group in found.groups),
            "mended": len(found.mended),
            "broken": len(found.broken),
            "still_broken": len(found.still_broken),
        },
        "unchanged": [run._asdict() for run in found.unchanged],
        "groups": [
            {"phrases": list(group.phrases), "runs": [_changed_data(run) for run in group.runs]}
            for group in found.groups
        ],
        "mended": [run._asdict() for run in found.mended],
        "broken": [_broken_data(run) for run in found.broken],
        "still_broken": [_broken_data(run) for run in found.still_broken],
    }


def _changed_data(run: Changed) -> dict[str, Any]:
    return {**run.subject._asdict(), "changes": [{**asdict(one), "path": list(one.path)} for one in run.changes]}


def _broken_data(run: Broken) -> dict[str, Any]:
    return {**run.subject._asdict(), "diagnostics": [_diagnostic_data(found) for found in run.diagnostics]}


def _diagnostic_data(found: Diagnostic) -> dict[str, Any]:
    return {
        "severity": str(found.severity),
        "code": found.code,
        "message": found.message,
        "where": found.span.label if found.span else None,
        "path": format_path(found.path),
        "help": found.help,
    }
