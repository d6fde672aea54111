"""Files as they were at a git revision.

Git is only asked for what is in its own store: no filter, no hook and no transport runs.
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
from speccompile.files.read import MAX_BYTES, empty_directory, too_large
from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source, Span
from speccompile.yaml_text.parsed import Parsed

MAX_LINKS = 40
"""Links that one path may lead through: the limit that Linux has."""
_COMMIT = re.compile(rb"[0-9a-f]{40,64}\n")
_LONGEST_REASON = 200
# What was replaced, or is fetched on demand, is not what stands in the revision; and nothing is written.
_OPTIONS = ("--no-replace-objects", "--no-optional-locks", "-c", "protocol.allow=never")
_LINK, _SUBMODULE, _TREE = "120000", "160000", "040000"

# A git hook that calls us points these at its own repository, and the paths may be in another.
_LOCAL = frozenset(
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


class _Place(NamedTuple):
    """Whose documents are asked for at which revision, and a folder from which git finds the repository."""

    revision: str
    folder: Path
    layer: Layer

    def name(self, path: str) -> str:
        """As `git show` takes it."""
        return f"{self.revision}:{path}"

    def error(self, code: str, message: str, path: str, help_text: str) -> CompileError:
        span = Span(Source(self.name(path), "", self.layer))
        return CompileError([Diagnostic(code=code, message=message, span=span, help=help_text)])


class _Snapshot(NamedTuple):
    """Everything that was in the repository at the revision, by path, and where its links point."""

    place: _Place
    tree: Mapping[str, _Entry]
    links: Mapping[str, str]


def load_revision(revision: str, paths: Iterable[Path], layer: Layer) -> Iterator[Parsed]:
    """As `expand` and `load` together, for files as they were at the revision; nothing raises."""
    for path in paths:
        whole = Path(os.path.abspath(path))  # noqa: PTH100  `resolve` would follow links as they are today
        place = _Place(revision, _nearest_folder(whole), layer)
        try:
            inside = _path_inside(place, whole, str(path))
            yield from _documents(_snapshot(place, inside), inside)
        except CompileError as error:
            yield Parsed((), error.diagnostics)


def removed_files(folder: Path) -> tuple[Path, ...] | None:
    """The YAML and JSON files, and the templates, that the last commit around the folder has, and that are gone since.

    None if that cannot be told: git does not say, or two lines of history are about to be merged, so that more has
    changed than people name. Where there is no repository, nothing is gone. A hook for a range of commits is told by
    pre-commit where the range begins.
    """
    place = _Place(os.environ.get("PRE_COMMIT_FROM_REF") or "HEAD", folder, Layer.RUN)
    try:
        done = _run(place, ".", "rev-parse", "--show-toplevel")
        if done.failed:
            return () if b"not a git repository" in done.complaint else None
        if not _run(place, ".", "rev-parse", "--verify", "--quiet", "MERGE_HEAD").failed:
            return None
        if _run(place, ".", "rev-parse", "--verify", "--quiet", "HEAD").failed:
            # There is no commit yet.
            return ()
        commit = _commit(place, ".")
        listed = _ask(place, ".", "ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", commit)
    except CompileError as error:
        return () if error.diagnostics[0].code == "revision/no-git" else None
    top = os.fsdecode(done.output.removesuffix(b"\n"))
    names = (os.fsdecode(name) for name in listed.split(b"\0")[:-1])
    endings = (*SUFFIXES, TEMPLATE_SUFFIX)
    return tuple(path for name in names if name.endswith(endings) and not os.path.lexists(path := Path(top, name)))


def _nearest_folder(path: Path) -> Path:
    """The folder to ask git in: the path itself may be gone by now, or a link, which belongs to where it stands."""
    if path.is_dir() and not path.is_symlink():
        return path
    return next(folder for folder in path.parents if folder.is_dir() or folder == folder.parent)


def _path_inside(place: _Place, whole: Path, given: str) -> str:
    """The path as the repository has it, from its root; links on the way stay, as they may have been others."""
    done = _run(place, given, "rev-parse", "--is-inside-work-tree")
    if done.output != b"true\n" and (not done.failed or b"not a git repository" in done.complaint):
        raise place.error(
            "revision/no-repository",
            "this path is not in a git work tree, so it has no revisions",
            given,
            "name a path in a clone of the repository, or a directory instead of the revision",
        )
    _refuse_failure(done, place, given)
    told = (_ask(place, given, "rev-parse", option) for option in ("--show-toplevel", "--show-prefix"))
    top, prefix = (os.fsdecode(line.removesuffix(b"\n")) for line in told)
    above = [folder for folder in (*reversed(whole.parents), whole) if folder.exists() and folder.samefile(top)]
    if above:
        return "/".join(whole.relative_to(above[0]).parts)
    return "/".join((prefix.rstrip("/"), *whole.relative_to(place.folder).parts)).strip("/")


def _snapshot(place: _Place, path: str) -> _Snapshot:
    commit = _commit(place, path)
    listed = _ask(place, path, "ls-tree", "-r", "-t", "-z", "--full-tree", "--end-of-options", commit)
    tree: dict[str, _Entry] = {}
    for line in listed.split(b"\0")[:-1]:
        what, _, name = line.partition(b"\t")
        mode, _, object_id = what.decode("ascii").split(" ")
        tree[os.fsdecode(name)] = _Entry(mode, object_id)
    links = {name: entry.object_id for name, entry in tree.items() if entry.mode == _LINK}
    targets = _contents(place, path, links.values())
    return _Snapshot(place, tree, {name: os.fsdecode(targets.get(link) or b"") for name, link in links.items()})


def _commit(place: _Place, path: str) -> str:
    # Git would take a null character for the end of the name, and Python refuses it.
    asked = place.revision.replace("\0", " ")
    done = _run(place, path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{asked}^{{commit}}")
    # A revision such as `^main` is none, though git has an answer for it.
    if not _COMMIT.fullmatch(done.output):
        raise place.error(
            "revision/unknown",
            f"git knows no commit {quote(place.revision)}",
            path,
            "name a branch, a tag or a commit (in a shallow clone, fetch it first), or a directory that exists",
        )
    return done.output.decode("ascii").strip()


def _documents(snapshot: _Snapshot, path: str) -> Iterator[Parsed]:
    place, tree, _ = snapshot
    start = _followed(snapshot, path)
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
    """The files below a folder, in the order of `expand`: what they are called, and where they are or why nowhere."""
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
            at = _followed(snapshot, before + name)
        except CompileError as error:
            yield called, error
            continue
        # A link to a folder is not walked into, nor does `expand`: it might lead in a circle.
        if at and snapshot.tree[at].mode != _TREE:
            yield called, at


def _walking_order(name: str) -> tuple[tuple[bool, str], ...]:
    """The files of a folder before the folders in it."""
    *folders, last = name.split("/")
    return (*((True, folder) for folder in folders), (False, last))


def _followed(snapshot: _Snapshot, path: str) -> str:
    """Where the path leads inside the tree, through all links; the root is the empty path."""
    place, tree, links = snapshot
    done: list[str] = []
    followed = 0
    steps = [step for step in reversed(path.split("/")) if step]
    while steps:
        step = steps.pop()
        here = "/".join((*done, step))
        if step == "..":
            if not done:
                raise _astray(place, path, "leads out of the repository")
            done.pop()
        elif here in links:
            followed += 1
            if followed > MAX_LINKS:
                raise _astray(place, path, f"leads through more than {MAX_LINKS} links, perhaps in a circle")
            if links[here].startswith("/"):
                raise _astray(place, path, f"points to {quote(links[here])}, outside of the repository")
            steps += (one for one in reversed(links[here].split("/")) if one not in ("", "."))
        elif here not in tree:
            raise _missing(place, path, here, is_linked=followed > 0)
        elif tree[here].mode == _SUBMODULE:
            raise place.error(
                "revision/submodule",
                f"{quote(here)} is a submodule, and its files are in another repository",
                path,
                "name its files by a path of their own, with a revision of their repository",
            )
        else:
            done.append(step)
    return "/".join(done)


def _astray(place: _Place, path: str, message: str) -> CompileError:
    return place.error("revision/link", f"the link {message}", path, "put the file itself into the repository")


def _missing(place: _Place, path: str, here: str, *, is_linked: bool) -> CompileError:
    if is_linked:
        return _astray(place, path, f"leads to {quote(here)}, which is not in the revision")
    return place.error(
        "revision/missing-path",
        f"there is no such file or directory in {quote(place.revision)}",
        path,
        "check the path, or name a revision that has it",
    )


def _contents(place: _Place, path: str, object_ids: Iterable[str]) -> dict[str, bytes | None]:
    """The contents of files by their ids; None for what is too large to be read."""
    wanted = "".join(f"{object_id}\n" for object_id in dict.fromkeys(object_ids)).encode("ascii")
    sizes: dict[str, int] = {}
    for line in _ask(place, path, "cat-file", "--batch-check", stdin=wanted).decode("ascii", "replace").splitlines():
        object_id, *what = line.split(" ")
        if what[:1] != ["blob"]:
            raise _unreadable(place, path, f"object {object_id} is missing")
        sizes[object_id] = int(what[1])
    small = [object_id for object_id, size in sizes.items() if size <= MAX_BYTES]
    wanted = "".join(f"{object_id}\n" for object_id in small).encode("ascii")
    answer = io.BytesIO(_ask(place, path, "cat-file", "--batch", stdin=wanted))
    found: dict[str, bytes | None] = dict.fromkeys(sizes)
    for object_id in small:
        answer.readline()
        found[object_id] = answer.read(sizes[object_id])
        answer.readline()
    return found


class _Done(NamedTuple):
    output: bytes
    complaint: bytes
    failed: bool


def _ask(place: _Place, path: str, *arguments: str, stdin: bytes = b"") -> bytes:
    done = _run(place, path, *arguments, stdin=stdin)
    _refuse_failure(done, place, path)
    return done.output


def _refuse_failure(done: _Done, place: _Place, path: str) -> None:
    if done.failed:
        lines = done.complaint.decode("utf-8", "replace").splitlines() or ["no reason given"]
        raise _unreadable(place, path, lines[0].removeprefix("fatal: "))


def _unreadable(place: _Place, path: str, reason: str) -> CompileError:
    return place.error(
        "revision/unreadable",
        f"git cannot read the repository: {quote(reason, _LONGEST_REASON)}",
        path,
        "check that `git fsck` and `git status` work there",
    )


def _run(place: _Place, path: str, *arguments: str, stdin: bytes = b"") -> _Done:
    import subprocess

    program = shutil.which("git")
    if program is None:
        raise place.error(
            "revision/no-git",
            "a git revision is named, and there is no git",
            path,
            "install git, or name a directory instead of the revision",
        )
    environment = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    try:
        done = subprocess.run(  # noqa: S603  no shell, and nothing of the user's where an option could stand
            [program, *_OPTIONS, *arguments],
            cwd=place.folder,
            env={**environment, "LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1"},
            input=stdin,
            capture_output=True,
            check=False,
        )
    except (OSError, ValueError) as error:
        raise _unreadable(place, path, str(error)) from None
    return _Done(done.stdout, done.stderr, done.returncode != 0)
