"""Schema of the runs that compile under a profile without any of their values being overridden.

Whatever an admin declares about a field becomes a schema, put where the field's path leads (`field_locations.py`) and
intersected with the field's own (`intersect.py`). What takes several values to see is left to the compiler:
docs/howto/editors.md lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.policy import DEFAULT_PROFILE
from speccompile.editor_schema.convert import EditorSchema, exported, field_definitions
from speccompile.editor_schema.export import Narrowed, as_text, run_actions, run_schema
from speccompile.editor_schema.from_fixed import fixed_fields
from speccompile.editor_schema.from_platform import (
    allowed_volumes,
    fields_of_other_targets,
    images_by_registry,
    reserved_keys,
    volume_sizes,
)
from speccompile.editor_schema.from_rules import banned_fields, ruled_fields
from speccompile.editor_schema.intersect import meet
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView, explained
from speccompile.editor_schema.required_fields import required_fields
from speccompile.editor_schema.resource_demands import resource_fields
from speccompile.model.diagnostic import quote
from speccompile.model.documents import Profile
from speccompile.model.node import Node
from speccompile.model.source import BUILT_IN

_AS_THEY_ARE: Mapping[str, str] = MappingProxyType({})
_NO_PROFILE = Profile(
    source=BUILT_IN.source,
    id=Node(DEFAULT_PROFILE, BUILT_IN),
    about={},
    parents=(),
    target=None,
    gpu_key=None,
    fields=Node({}, BUILT_IN),
    defaults=Node({}, BUILT_IN),
    rules=(),
    bans=(),
    bases={},
)
"""What runs without a profile are under where nobody wrote the default one."""


def narrowed_text(profile: Profile | None, setting: Setting, files: Mapping[str, str] = _AS_THEY_ARE) -> str:
    """The schema of runs under the profile as JSON text; `files` says how the files of the setting are called in it."""
    return as_text(narrowed_schema(profile, setting, files))


def narrowed_schema(profile: Profile | None, setting: Setting, files: Mapping[str, str] = _AS_THEY_ARE) -> EditorSchema:
    """The schema of runs under the profile, or under none, in all forms of runs."""
    view = ProfileView(profile or _NO_PROFILE, setting, files)
    fields = field_definitions(view.library)
    for source in _SOURCES:
        for name, made in source(view):
            fields[name] = meet(fields[name], made)
    head, required = _head(view)
    needs = {action: list(required_fields(action, view)) for action in run_actions(view.library)}
    long: EditorSchema = {}
    narrowed = Narrowed(_shortened(fields, long), head, required, _namespace(view), needs)
    made = run_schema(view.library, narrowed)
    made["definitions"] |= long
    return {**made, "title": f"Run under profile {quote(profile.id.value)}" if profile else "Run without a profile"}


def _shortened(value: Any, long: EditorSchema) -> Any:
    """The value with references in the place of long patterns, whose definitions are added to `long`, each once."""
    if isinstance(value, list):
        return [_shortened(child, long) for child in value]
    if not isinstance(value, dict):
        return value
    made = {key: _shortened(child, long) for key, child in value.items()}
    if not isinstance(made.get("pattern"), str) or len(made["pattern"]) < _LONG:
        return made
    # What an editor says of a text stands beside the pattern.
    part = {key: made[key] for key in ("pattern", "errorMessage") if key in made}
    name = next((name for name, known in long.items() if known == part), f"pattern {len(long) + 1}")
    long[name] = part
    rest = {key: child for key, child in made.items() if key != "pattern"}
    return {**rest, "allOf": [*rest.get("allOf", ()), {"$ref": f"#/definitions/{name}"}]}


_LONG = 500
"""Characters of a pattern that is not worth writing twice."""


_SOURCES: tuple[Callable[[ProfileView], Iterator[FieldSchema]], ...] = (
    fixed_fields,
    ruled_fields,
    resource_fields,
    images_by_registry,
    allowed_volumes,
    volume_sizes,
    reserved_keys,
    banned_fields,
    fields_of_other_targets,
)


def _head(view: ProfileView) -> tuple[Mapping[str, EditorSchema], Sequence[str]]:
    """What `profile` and `project` may be, and which of them must be there."""
    known = exported(view.library.schemas["run"], "#/definitions/flat", view.library)["properties"]
    name = str(view.profile.id.value)
    if name == DEFAULT_PROFILE:
        names = [name] if name in view.setting.profiles else []
        return {"profile": {**known["profile"], "enum": [*names, "", None]}}, ()
    profile = {**known["profile"], "type": "string", "enum": [name], "default": name}
    listed = view.setting_at("project_profiles")
    if listed is None:
        return {"profile": profile}, ("profile",)
    default = view.library.schemas["run"]["properties"]["project"]["default"]
    is_open = name in listed.get("*", ())
    having, lacking = ([one for one, names in listed.items() if (name in names) is wanted] for wanted in (True, False))
    choice: EditorSchema = {"not": {"enum": lacking}} if is_open else {"enum": [*having, None]}
    reason = explained(f"the platform lets only some projects use profile {quote(name)}")
    may_lack = default in having or (is_open and default not in lacking)
    project = meet(known["project"], {**choice, **reason})
    return {"profile": profile, "project": project}, ("profile",) if may_lack else ("profile", "project")


def _namespace(view: ProfileView) -> EditorSchema:
    own = view.platform.settings.fields.get("namespace")
    return {"enum": [own.value, None], **view.fixed_by(own)} if own else {}
