"""Read the project file `speccompile.yaml`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path, PurePath
from types import MappingProxyType

from speccompile.files.find import (
    ANYTHING,
    SUFFIXES,
    Allowance,
    Identity,
    Unlisted,
    identity,
    is_folder,
    is_too_many,
    matching,
)
from speccompile.files.find_project import Project, here, identities, locate, near_by, own_files, platform_of, real
from speccompile.files.load import load
from speccompile.files.read import expand
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.findings import CompileError, stop_if_any
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.severity import IGNORE
from speccompile.model.source import Layer
from speccompile.schema.bundled import bundled_codes, preset_names
from speccompile.schema.library import schema_library
from speccompile.schema.suggestions import near, unknown_key
from speccompile.schema.validate import validate, without_faulty
from speccompile.yaml_text.parse import several_documents

_WILDCARDS = frozenset("*?[")
_SKIPPED = "hidden files, the output and the project's other files are skipped"
_RANKS = (*Severity, IGNORE)
"""Severities, highest first."""
_SET_BY_PLATFORM = "merge/overridden"
"""The code whose severity the platform's `overrides` sets."""
_NO_OVERRIDES: Mapping[str, Sequence[Path]] = MappingProxyType({})


def load_project(path: Path | str) -> Project:
    """Load a project file, or the nearest one in or above a directory. Raises CompileError with all findings.

    `compile_many(project.runs, profiles=project.profiles, platform=project.platform, templates=project.templates,
    project=project.project, functions=project.functions)` compiles all its runs.
    """
    return read_project(locate(Path(path)))


def read_project(
    file: Path, overrides: Mapping[str, Sequence[Path]] = _NO_OVERRIDES, *, is_trusted: bool = True
) -> Project:
    """Read a project file. `overrides` replace the paths of keys, which are then not looked up.

    A file that is not trusted cannot replace what the admin sets.
    """
    tree, findings = _read(near_by(file))
    if not is_trusted:
        findings += _beyond_trust(tree, overrides)
    folder = here() / file.parent
    profiles, platform, templates, functions, output = (
        _named_paths(tree, key, folder) for key in ("profiles", "platform", "templates", "functions", "output")
    )
    name, kubernetes, severity = map(tree.fields.get, ("project", "kubernetes", "severity"))
    project = Project(
        path=near_by(file),
        project=str(name.value) if name else None,
        profiles=tuple(one.file for one in profiles),
        platform=next((_platform(one, folder) for one in platform), None),
        templates=next((one.file for one in templates), None),
        functions=tuple(one.file for one in functions),
        output=next((one.file for one in output), None),
        kubernetes={str(node.value): node.span for node in kubernetes.items} if kubernetes else {},
        severity={code: str(node.value) for code, node in severity.fields.items()} if severity else {},
    )
    files = (*profiles, *(platform if isinstance(project.platform, Path) else ()), *templates, *functions)
    findings += [_no_match(one) for one in files if one.path[0] not in overrides and _is_missing(one.file)]
    findings += [_outside(one) for one in output if not _is_below(one, folder)]
    profile_files = tuple(expand([*project.profiles, *overrides.get("profiles", ())]))
    findings += [finding for one in profile_files if is_too_many(one) for finding in load(one, Layer.PROFILE).findings]
    runs: tuple[Path, ...] = ()
    if "runs" not in overrides:
        others = [path for paths in overrides.values() for path in paths]
        others += (file for file in profile_files if isinstance(file, Path))
        skipped = own_files(project) | identities(others)
        runs, more = _find_runs(_named_paths(tree, "runs", folder), folder, skipped)
        findings += more
    stop_if_any(findings)
    return project._replace(runs=runs)


class _NamedPath(NamedTuple):
    """A value of the project file that names files: its node and path, its text, and the text as a path."""

    node: Node
    path: KeyPath
    text: str
    file: Path


def _read(file: Path) -> tuple[Node, list[Diagnostic]]:
    """The tree of the project file without faulty fields, and all findings."""
    parsed = load(file, Layer.PLATFORM)
    findings = [*parsed.findings, *(several_documents(document, "project") for document in parsed.documents[1:])]
    if not parsed.documents:
        raise CompileError(findings)
    root, library = parsed.documents[0].root, schema_library()
    tree, found = validate(root, "project", library)
    # A single unknown key is rather a misspelt one.
    if found and len(root.fields) > 1:
        from speccompile.compiler.documents.wrong_document import wrong_document  # most files have no errors

        if wrong := wrong_document(root, "project", library):
            raise CompileError([*findings, wrong])
    found = (*found, *_unknown_codes(tree))
    if parsed.findings:
        # An ambiguous scalar may name another file than was meant.
        raise CompileError([*findings, *found])
    return without_faulty(tree, found), [*findings, *found]


def _unknown_codes(tree: Node) -> Iterator[Diagnostic]:
    written = tree.fields.get("severity")
    if written is None:
        return
    for code, node in written.fields.items():
        if code not in bundled_codes():
            yield unknown_key(code, node.key or node.span, ("severity", code), tuple(bundled_codes()))


def _beyond_trust(tree: Node, overrides: Collection[str]) -> Iterator[Diagnostic]:
    """Report settings with which users could bypass the profiles and the platform of the command line."""
    instead = {"project": "set it in the platform file", "platform": "pass --platform", "templates": "pass --templates"}
    for key, advice in instead.items():
        if key in tree.fields and key not in overrides:
            yield _untrusted(tree.fields[key], (key,), f"set `{key}`", advice)
    severity = tree.fields.get("severity")
    for code, node in severity.fields.items() if severity else ():
        # The platform sets the severity of overridden values, so any other than `error` could be lower.
        least = Severity.ERROR if code == _SET_BY_PLATFORM else bundled_codes()[code].severity
        if _RANKS.index(str(node.value)) > _RANKS.index(least):
            lowering = f"lower the severity of `{code}` to `{node.value}`"
            yield _untrusted(node, ("severity", code), lowering, f"pass --{node.value} {code}")


def _untrusted(node: Node, path: KeyPath, what: str, instead: str) -> Diagnostic:
    return Diagnostic(
        code="project/untrusted",
        message=f"a project file next to the runs cannot {what}: the command line names the admin's files",
        span=node.place,
        path=path,
        help=f"remove it, or {instead}; `--project {node.span.source.name}` makes this file the admin's",
    )


def _named_paths(tree: Node, key: str, folder: Path) -> tuple[_NamedPath, ...]:
    node = tree.fields.get(key)
    if node is None:
        return ()
    items: list[tuple[KeyPath, Node]] = [((key, index), item) for index, item in enumerate(node.items)]
    return tuple(
        _NamedPath(inner, path, str(inner.value), near_by(folder / str(inner.value)))
        for path, inner in ([((key,), node)] if node.is_scalar else items)
    )


def _platform(one: _NamedPath, folder: Path) -> Path | str:
    named = platform_of(one.text, folder)
    return one.file if isinstance(named, Path) else named


def _find_runs(
    named: Iterable[_NamedPath], folder: Path, skipped: frozenset[Identity]
) -> tuple[tuple[Path, ...], list[Diagnostic]]:
    """The run files, each once, in directory order, whatever the order of the patterns."""
    found: set[Path] = set()
    findings: list[Diagnostic] = []
    allowance = Allowance()
    for one in named:
        matches = tuple(_matches(one, folder, skipped, allowance))
        for match in matches:
            if isinstance(match, Path):
                found.add(match)
            else:
                findings += load(match, Layer.PLATFORM).findings
        if not matches:
            findings.append(_no_match(one))
    names: dict[Identity | Path, Path] = {}
    for path in sorted(found, key=lambda path: _order(path, folder)):
        names.setdefault(identity(path) or path, near_by(path))
    return tuple(names.values()), findings


def _matches(
    one: _NamedPath, folder: Path, skipped: frozenset[Identity], allowance: Allowance
) -> Iterator[Path | Unlisted]:
    """The files of a pattern or directory, or a file itself."""
    parts = PurePath(one.text).parts
    plain = tuple(takewhile(lambda part: not _WILDCARDS & {*part}, parts))
    top, steps = folder.joinpath(*plain), parts[len(plain) :]
    if steps and steps[-1] == "**":
        # A final `**` means the files at any depth.
        steps = (*steps, "*")
    if is_folder(top):
        yield from matching(top, steps or ANYTHING, skipped, allowance=allowance)
    elif not steps and not _is_missing(top):
        yield top


def _order(path: Path, folder: Path) -> tuple[tuple[bool, str], ...]:
    """The sort key for directory order: files before directories, by name, relative to the folder."""
    parts = (path.relative_to(folder) if path.is_relative_to(folder) else path).parts
    return (*((True, part) for part in parts[:-1]), (False, parts[-1]))


def _no_match(one: _NamedPath) -> Diagnostic:
    key = str(one.path[0])
    is_pattern = key == "runs" and (is_folder(one.file) or _WILDCARDS & {*one.text})
    preset = near(one.text, preset_names()) if key == "platform" else None
    *kinds, last = SUFFIXES
    problem = f"matches no {', '.join(kinds)} or {last} file" if is_pattern else "does not exist"
    return Diagnostic(
        code="project/no-match",
        message=f"{quote(one.text)} {problem}",
        span=one.node.span,
        path=one.path,
        notes=(Note(_SKIPPED),) if is_pattern else (),
        help=f"did you mean the preset `{preset}`?" if preset else "check the path, which is relative to this file",
    )


def _outside(one: _NamedPath) -> Diagnostic:
    return Diagnostic(
        code="project/output-outside",
        message=f"{quote(one.text)} is not a relative path below the directory of the project file",
        span=one.node.span,
        path=one.path,
        help="write the name of a directory, such as `manifests`; to write elsewhere, use -o",
    )


def _is_below(one: _NamedPath, folder: Path) -> bool:
    return not PurePath(one.text).is_absolute() and real(folder) in real(one.file).parents


def _is_missing(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        # It may exist; reading it reports the error.
        return False
    return False
