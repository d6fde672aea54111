"""Determine which runs a change of files affects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.entities import type_of_entity
from speccompile.compiler.documents.profiles import choose
from speccompile.compiler.documents.run_forms import flatten
from speccompile.diff.chosen_runs import Affected, file_name_of
from speccompile.model.documents import Document, Profile
from speccompile.model.findings import has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer
from speccompile.yaml_text.parsed import Parsed

IsTouched = Callable[[str], bool]
"""Whether the file with this name has changed."""


class RunKey(NamedTuple):
    """The project, name and profile of a run, read before it is compiled."""

    project: str
    name: str
    profile: Node | None


def affected(
    files: Iterable[Parsed], setting: Setting, is_touched: IsTouched, output_of: Callable[[RunKey], str]
) -> Affected:
    """The runs to compile again: those whose file, profile or manifests changed, and those with the same name.

    Runs with the same name may produce the same object. A run without a profile is affected by a change of any
    profile, because the default profile may have been removed. A run with an unknown profile is always affected.
    """
    touched_profiles = any(is_touched(profile.source.name) for profile in setting.profiles.values())
    chosen: dict[str, set[int]] = {}
    seen: list[tuple[str, int, str]] = []
    outputs: set[str] = set()
    unread: dict[str, None] = {}
    for parsed in files:
        file = file_name_of(parsed)
        if is_touched(file):
            chosen[file] = set(range(len(parsed.documents)))
        if has_errors(parsed.findings):
            unread[file] = None
        for number, document in enumerate(parsed.documents):
            if type_of_entity(document.root) not in (None, Layer.RUN):
                continue
            run_key = run_key_of(document, setting)
            if run_key is None:
                unread[file] = None
                continue
            output = output_of(run_key)
            outputs.add(output)
            seen.append((file, number, run_key.name))
            if is_touched(output) or _uses_touched(run_key, setting, is_touched, by_default=touched_profiles):
                chosen.setdefault(file, set()).add(number)
    names = {name for file, number, name in seen if number in chosen.get(file, ())}
    for file, number, name in seen:
        if name in names:
            chosen.setdefault(file, set()).add(number)
    documents = {file: frozenset(numbers) for file, numbers in chosen.items()}
    return Affected(documents, frozenset(outputs), len(seen), tuple(unread))


def run_key_of(document: Document, setting: Setting) -> RunKey | None:
    """The key of the run in the document; None if it is not a run or has no name."""
    fields = flatten(document, setting.entities, setting.platform, setting.library).fields
    name = _text(fields, "name")
    if fields is None or not name:
        return None
    default = setting.library.schemas["run"]["properties"]["project"]["default"]
    profile = fields.fields.get("profile") if _text(fields, "profile") else None
    return RunKey(_text(fields, "project") or default, name, profile)


def _text(fields: Node | None, key: str) -> str:
    node = fields.fields.get(key) if fields else None
    return node.value if node is not None and isinstance(node.value, str) else ""


def _uses_touched(run_key: RunKey, setting: Setting, is_touched: IsTouched, *, by_default: bool) -> bool:
    profile, unknown = choose(run_key.profile, setting.profiles)
    if profile is None:
        return bool(unknown) or by_default
    return any(is_touched(name) for name in _files(profile, setting.profiles))


def _files(profile: Profile, profiles: Mapping[str, Profile]) -> Iterator[str]:
    """The files of a profile and all its ancestors."""
    pending, visited = [profile], set[str]()
    while pending:
        current = pending.pop()
        yield current.source.name
        parents = {str(parent.value) for parent in current.parents} - visited
        visited |= parents
        pending += (profiles[parent] for parent in sorted(parents) if parent in profiles)
