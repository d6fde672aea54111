"""Files as they were at a git revision.

Only the object store is read: no filter, hook or transport runs.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from speccompile.files.find import PROJECT_FILE, SUFFIXES, TEMPLATE_SUFFIX
from speccompile.files.load import load_stream
from speccompile.files.read import MAX_FILE_BYTES, empty_directory, too_large
from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source, Span
from speccompile.yaml_text.parsed import Parsed

MAX_LINKS = 40
"""Links that one path may pass through, as on Linux."""
_COMMIT = re.compile(rb"[0-9a-f]{40,64}\n")
_MAX_REASON = 200
# Replaced objects are not part of the revision, missing ones are not fetched, and nothing is written.
_OPTIONS = ("--no-replace-objects", "--no-optional-locks", "-c", "protocol.allow=never")
_LINK, _SUBMODULE, _TREE = "120000", "160000", "040000"

# A git hook sets these for its repository, and the paths may be in another.
_REPOSITORY_VARIABLES = frozenset(
    f"GIT_{name}"
    for name in (
        "ALTERNATE_OBJECT_DIRECTORIES",
        "COMMON_DIR",
        "DIR",
        "GRAFT_FILE",
        "IMPLICIT_WORK_TREE",
        "INDEX_FILE",
        "NAMESPACE",
        "OBJECT_DIRECTORY",
        "PREFIX",
        "REPLACE_REF_BASE",
        "SHALLOW_FILE",
        "WORK_TREE",
    )
)


class _Entry(NamedTuple):
    mode: str
    object_id: str


class _Location(NamedTuple):
    """A revision, a folder of its repository, and the layer of the documents."""

    revision: str
    folder: Path
    layer: Layer

    def name(self, path: str) -> str:
        """The name of a file, as for `git show`."""
        return f"{self.revision}:{path}"

    def error(self, code: str, message: str, path: str, help_text: str) -> CompileError:
        span = Span(Source(self.name(path), "", self.layer))
        return CompileError([Diagnostic(code=code, message=message, span=span, help=help_text)])


class _Snapshot(NamedTuple):
    """All entries of the repository at the revision, by path, and the targets of its links."""

    place: _Location
    tree: Mapping[str, _Entry]
    links: Mapping[str, str]


def load_revision(revision: str, paths: Iterable[Path], layer: Layer) -> Iterator[Parsed]:
    """Like `expand` and `load` together, for files as they were at the revision; never raises."""
    for path in paths:
        absolute = Path(os.path.abspath(path))  # noqa: PTH100  `resolve` would follow links as they are today
        place = _Location(revision, _nearest_folder(absolute), layer)
        try:
            inside = _path_inside(place, absolute, str(path))
            yield from _documents(_snapshot(place, inside), inside)
        except CompileError as error:
            yield Parsed((), error.diagnostics)


def removed_files(folder: Path) -> tuple[Path, ...] | None:
    """The YAML files, JSON files and templates of the last commit that no longer exist.

    None if that is unknown: git fails, or a merge is in progress, in which more has changed than the named files.
    Without a repository, nothing was removed. For a range of commits, pre-commit sets the first one.
    """
    place = _Location(_last_commit(), folder, Layer.RUN)
    try:
        done = _run(place, ".", "rev-parse", "--show-toplevel")
        if done.failed:
            return () if b"not a git repository" in done.errors else None
        if not _run(place, ".", "rev-parse", "--verify", "--quiet", "MERGE_HEAD").failed:
            return None
        if _run(place, ".", "rev-parse", "--verify", "--quiet", "HEAD").failed:
            # There is no commit yet.
            return ()
        commit = _commit(place, ".")
        listing = _git(place, ".", "ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", commit)
    except CompileError as error:
        return () if error.diagnostics[0].code == "revision/no-git" else None
    top = os.fsdecode(done.output.removesuffix(b"\n"))
    names = (os.fsdecode(name) for name in listing.split(b"\0")[:-1])
    endings = (*SUFFIXES, TEMPLATE_SUFFIX)
    return tuple(path for name in names if name.endswith(endings) and not os.path.lexists(path := Path(top, name)))


def load_removed(paths: Iterable[Path]) -> Iterator[Parsed]:
    """The documents of removed files, as they were in the last commit."""
    return load_revision(_last_commit(), (path for path in paths if path.suffix in SUFFIXES), Layer.FUNCTION)


def _last_commit() -> str:
    return os.environ.get("PRE_COMMIT_FROM_REF") or "HEAD"


def _nearest_folder(path: Path) -> Path:
    """The folder to run git in: the path itself may not exist any more, or be a link, which belongs to its folder."""
    if path.is_dir() and not path.is_symlink():
        return path
    return next(folder for folder in path.parents if folder.is_dir() or folder == folder.parent)


def _path_inside(place: _Location, absolute: Path, path: str) -> str:
    """The path from the root of the repository, with its links, which may have had other targets at the revision."""
    done = _run(place, path, "rev-parse", "--is-inside-work-tree")
    if done.output != b"true\n" and (not done.failed or b"not a git repository" in done.errors):
        raise place.error(
            "revision/no-repository",
            "this path is not in a git work tree, so it has no revisions",
            path,
            "pass an existing directory to --old, or name a path in a git work tree",
        )
    _refuse_failure(done, place, path)
    lines = (_git(place, path, "rev-parse", option) for option in ("--show-toplevel", "--show-prefix"))
    top, prefix = (os.fsdecode(line.removesuffix(b"\n")) for line in lines)
    above = [folder for folder in (*reversed(absolute.parents), absolute) if folder.exists() and folder.samefile(top)]
    if above:
        return "/".join(absolute.relative_to(above[0]).parts)
    return "/".join((prefix.rstrip("/"), *absolute.relative_to(place.folder).parts)).strip("/")


def _snapshot(place: _Location, path: str) -> _Snapshot:
    commit = _commit(place, path)
    listing = _git(place, path, "ls-tree", "-r", "-t", "-z", "--full-tree", "--end-of-options", commit)
    tree: dict[str, _Entry] = {}
    for line in listing.split(b"\0")[:-1]:
        what, _, name = line.partition(b"\t")
        mode, _, object_id = what.decode("ascii").split(" ")
        tree[os.fsdecode(name)] = _Entry(mode, object_id)
    links = {name: entry.object_id for name, entry in tree.items() if entry.mode == _LINK}
    targets = _contents(place, path, links.values())
    return _Snapshot(place, tree, {name: os.fsdecode(targets.get(link) or b"") for name, link in links.items()})


def _commit(place: _Location, path: str) -> str:
    # A null character would end the name, and Python refuses it.
    revision = place.revision.replace("\0", " ")
    done = _run(place, path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    # `^main` is not a revision, though git prints something for it.
    if not _COMMIT.fullmatch(done.output):
        raise place.error(
            "revision/unknown",
            f"no commit {quote(place.revision)} in the repository",
            path,
            "name a branch, a tag or a commit (in a shallow clone, fetch it first), or a directory that exists",
        )
    return done.output.decode("ascii").strip()


def _documents(snapshot: _Snapshot, path: str) -> Iterator[Parsed]:
    place, tree, _ = snapshot
    start = _follow_links(snapshot, path)
    is_folder = not start or tree[start].mode == _TREE
    files = tuple(_files(snapshot, path, start)) if is_folder else ((path, start),)
    contents = _contents(place, path, (tree[at].object_id for _, at in files if isinstance(at, str)))
    for name, at in files:
        if isinstance(at, CompileError):
            yield Parsed((), at.diagnostics)
        elif (data := contents[tree[at].object_id]) is None:
            yield too_large(place.name(name), place.layer)
        else:
            yield load_stream(io.BytesIO(data), place.name(name), place.layer)
    if not files:
        yield empty_directory(place.name(path), place.layer)


def _files(snapshot: _Snapshot, path: str, start: str) -> Iterator[tuple[str, str | CompileError]]:
    """The files below a folder, in the order of `expand`: name, and path with links followed or an error."""
    before = f"{start}/" if start else ""
    below = (name.removeprefix(before) for name in snapshot.tree if name.startswith(before))
    for name in sorted(below, key=_walking_order):
        *folders, last = name.split("/")
        mode = snapshot.tree[before + name].mode
        is_file = mode != _TREE and last.endswith(SUFFIXES) and last != PROJECT_FILE
        if not (is_file or mode == _SUBMODULE) or any(step.startswith(".") for step in (*folders, last)):
            continue
        called = f"{path}/{name}" if path else name
        try:
            at = _follow_links(snapshot, before + name)
        except CompileError as error:
            yield called, error
            continue
        # Like `expand`, do not follow a link to a folder, which could be circular.
        if at and snapshot.tree[at].mode != _TREE:
            yield called, at


def _walking_order(name: str) -> tuple[tuple[bool, str], ...]:
    """The files of a folder before the folders in it."""
    *folders, last = name.split("/")
    return (*((True, folder) for folder in folders), (False, last))


def _follow_links(snapshot: _Snapshot, path: str) -> str:
    """The path with all links followed; the root is the empty path."""
    place, tree, links = snapshot
    done: list[str] = []
    followed = 0
    steps = [step for step in reversed(path.split("/")) if step]
    while steps:
        step = steps.pop()
        here = "/".join((*done, step))
        if step == "..":
            if not done:
                raise _bad_link(place, path, "points outside the repository")
            done.pop()
        elif here in links:
            followed += 1
            if followed > MAX_LINKS:
                raise _bad_link(place, path, f"passes through more than {MAX_LINKS} links, and may be circular")
            if links[here].startswith("/"):
                raise _bad_link(place, path, f"points to {quote(links[here])}, outside the repository")
            steps += (one for one in reversed(links[here].split("/")) if one not in ("", "."))
        elif here not in tree:
            raise _missing(place, path, here, is_linked=followed > 0)
        elif tree[here].mode == _SUBMODULE:
            raise place.error(
                "revision/submodule",
                f"{quote(here)} is a submodule, and its files are in another repository",
                path,
                "name its files directly, with a revision of their repository",
            )
        else:
            done.append(step)
    return "/".join(done)


def _bad_link(place: _Location, path: str, message: str) -> CompileError:
    return place.error("revision/link", f"the link {message}", path, "put the file itself into the repository")


def _missing(place: _Location, path: str, here: str, *, is_linked: bool) -> CompileError:
    if is_linked:
        return _bad_link(place, path, f"points to {quote(here)}, which is not in the revision")
    return place.error(
        "revision/missing-path",
        f"no such file or directory in {quote(place.revision)}",
        path,
        "check the path, or name a revision that has it",
    )


def _contents(place: _Location, path: str, object_ids: Iterable[str]) -> dict[str, bytes | None]:
    """The contents of files by object id; None for files that are too large."""
    wanted = "".join(f"{object_id}\n" for object_id in dict.fromkeys(object_ids)).encode("ascii")
    sizes: dict[str, int] = {}
    for line in _git(place, path, "cat-file", "--batch-check", stdin=wanted).decode("ascii", "replace").splitlines():
        object_id, *what = line.split(" ")
        if what[:1] != ["blob"]:
            raise _unreadable(place, path, f"object {object_id} is missing")
        sizes[object_id] = int(what[1])
    small = [object_id for object_id, size in sizes.items() if size <= MAX_FILE_BYTES]
    wanted = "".join(f"{object_id}\n" for object_id in small).encode("ascii")
    answer = io.BytesIO(_git(place, path, "cat-file", "--batch", stdin=wanted))
    contents: dict[str, bytes | None] = dict.fromkeys(sizes)
    for object_id in small:
        answer.readline()
        contents[object_id] = answer.read(sizes[object_id])
        answer.readline()
    return contents


class _GitResult(NamedTuple):
    output: bytes
    errors: bytes
    failed: bool


def _git(place: _Location, path: str, *arguments: str, stdin: bytes = b"") -> bytes:
    done = _run(place, path, *arguments, stdin=stdin)
    _refuse_failure(done, place, path)
    return done.output


def _refuse_failure(done: _GitResult, place: _Location, path: str) -> None:
    if done.failed:
        lines = done.errors.decode("utf-8", "replace").splitlines() or ["no reason given"]
        raise _unreadable(place, path, lines[0].removeprefix("fatal: "))


def _unreadable(place: _Location, path: str, reason: str) -> CompileError:
    return place.error(
        "revision/unreadable",
        f"git cannot read the repository: {quote(reason, _MAX_REASON)}",
        path,
        "check that `git fsck` and `git status` work there",
    )


def _run(place: _Location, path: str, *arguments: str, stdin: bytes = b"") -> _GitResult:
    import subprocess

    program = shutil.which("git")
    if program is None:
        raise place.error(
            "revision/no-git",
            "git is not installed, and a git revision is named",
            path,
            "install git, or name a directory instead of the revision",
        )
    environment = {name: value for name, value in os.environ.items() if name not in _REPOSITORY_VARIABLES}
    try:
        done = subprocess.run(  # noqa: S603  no shell, and no user input in the place of an option
            [program, *_OPTIONS, *arguments],
            cwd=place.folder,
            env={**environment, "LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1"},
            input=stdin,
            capture_output=True,
            check=False,
        )
    except (OSError, ValueError) as error:
        raise _unreadable(place, path, str(error)) from None
    return _GitResult(done.stdout, done.stderr, done.returncode != 0)
