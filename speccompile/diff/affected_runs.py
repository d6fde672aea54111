"""Runs that a change of files affects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.profiles import choose
from speccompile.compiler.documents.run_forms import flatten
from speccompile.compiler.name_placeholders import facts_used
from speccompile.diff.chosen_runs import Affected, file_of
from speccompile.model.documents import Document, Profile
from speccompile.model.findings import has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.yaml_text.parsed import Parsed

IsTouched = Callable[[str], bool]
"""Whether the file of this name has changed."""


class Subject(NamedTuple):
    """What a document says of itself before it is compiled."""

    project: str
    name: str
    profile: Node | None


def affected(
    files: Iterable[Parsed], setting: Setting, is_touched: IsTouched, output_of: Callable[[Subject], str]
) -> Affected:
    """Which runs to compile again: those whose file, profile or manifests have changed, and those beside them.

    A run is beside another if both have one name, so that both may make one object. A run without a profile may have
    lost one, so it is touched by whatever touches profiles at all; a run whose profile is not there is always touched.
    """
    touched_profiles = any(is_touched(profile.source.name) for profile in setting.profiles.values())
    chosen: dict[str, set[int]] = {}
    seen: list[tuple[str, int, str]] = []
    outputs: set[str] = set()
    unread: dict[str, None] = {}
    for parsed in files:
        file = file_of(parsed)
        if is_touched(file):
            chosen[file] = set(range(len(parsed.documents)))
        if has_errors(parsed.findings):
            unread[file] = None
        for number, document in enumerate(parsed.documents):
            subject = subject_of(document, setting)
            if subject is None:
                unread[file] = None
                continue
            output = output_of(subject)
            outputs.add(output)
            seen.append((file, number, subject.name))
            if is_touched(output) or _uses_touched(subject, setting, is_touched, by_default=touched_profiles):
                chosen.setdefault(file, set()).add(number)
    names = {name for file, number, name in seen if number in chosen.get(file, ())}
    for file, number, name in seen:
        if name in names:
            chosen.setdefault(file, set()).add(number)
    documents = {file: frozenset(numbers) for file, numbers in chosen.items()}
    return Affected(documents, frozenset(outputs), len(seen), tuple(unread))


def subject_of(document: Document, setting: Setting) -> Subject | None:
    """What the document says; None if it has no name, or is no run."""
    fields = flatten(document, facts_used(setting.platform), setting.library).fields
    name = _text(fields, "name")
    if fields is None or not name:
        return None
    default = setting.library.schemas["run"]["properties"]["project"]["default"]
    said = fields.fields.get("profile")
    return Subject(_text(fields, "project") or default, name, said if _text(fields, "profile") else None)


def _text(fields: Node | None, key: str) -> str:
    node = fields.fields.get(key) if fields else None
    return node.value if node is not None and isinstance(node.value, str) else ""


def _uses_touched(subject: Subject, setting: Setting, is_touched: IsTouched, *, by_default: bool) -> bool:
    profile, unknown = choose(subject.profile, setting.profiles)
    if profile is None:
        return bool(unknown) or by_default
    return any(is_touched(name) for name in _files(profile, setting.profiles))


def _files(profile: Profile, profiles: Mapping[str, Profile]) -> Iterator[str]:
    """The files of a profile and of all its parents."""
    pending, known = [profile], set[str]()
    while pending:
        one = pending.pop()
        yield one.source.name
        parents = {str(parent.value) for parent in one.parents} - known
        known |= parents
        pending += (profiles[parent] for parent in sorted(parents) if parent in profiles)
