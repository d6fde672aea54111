"""Schema of the runs that compile under a profile without overridden values.

Each setting of an admin for a field becomes a schema at the field's path (`field_locations.py`), which is intersected
with the schema of the field (`intersect.py`). Checks that involve several values are left to the compiler:
docs/howto/editors.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.policy import DEFAULT_PROFILE
from speccompile.editor_schema.convert import EditorSchema, export_schema, field_definitions
from speccompile.editor_schema.export import Narrowed, run_actions, run_editor_schema, schema_json
from speccompile.editor_schema.from_fixed import fixed_fields
from speccompile.editor_schema.from_platform import (
    allowed_volumes,
    deadlines,
    fields_of_other_targets,
    images_by_registry,
    reserved_keys,
    volume_sizes,
)
from speccompile.editor_schema.from_rules import banned_fields, ruled_fields
from speccompile.editor_schema.intersect import intersect
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView, with_reason
from speccompile.editor_schema.required_fields import required_fields
from speccompile.editor_schema.resource_constraints import resource_fields
from speccompile.model.diagnostic import quote
from speccompile.model.documents import Profile
from speccompile.model.node import Node
from speccompile.model.source import BUILT_IN

_UNCHANGED: Mapping[str, str] = MappingProxyType({})
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
"""The profile of runs without one, if there is no profile `default`."""


def narrowed_text(profile: Profile | None, setting: Setting, files: Mapping[str, str] = _UNCHANGED) -> str:
    """The schema of runs under the profile as JSON text; `files` maps files of the setting to their names in it."""
    return schema_json(narrowed_schema(profile, setting, files))


def narrowed_schema(profile: Profile | None, setting: Setting, files: Mapping[str, str] = _UNCHANGED) -> EditorSchema:
    """The schema of runs in any form, under the profile or under none."""
    view = ProfileView(profile or _NO_PROFILE, setting, files)
    fields = field_definitions(view.library)
    for source in _SOURCES:
        for name, constraint in source(view):
            fields[name] = intersect(fields[name], constraint)
    head, required = _head(view)
    head = _with_fixed_project(head, view)
    needs = {action: list(required_fields(action, view)) for action in run_actions(view.library)}
    long: EditorSchema = {}
    narrowed = Narrowed(_share_long_patterns(fields, long), head, required, _namespace(view), needs)
    schema = run_editor_schema(view.library, narrowed)
    schema["definitions"] |= long
    return {**schema, "title": f"Run under profile {quote(profile.id.value)}" if profile else "Run without a profile"}


def _share_long_patterns(value: Any, long: EditorSchema) -> Any:
    """The value with references in place of long patterns, which are added to `long` as definitions."""
    if isinstance(value, list):
        return [_share_long_patterns(child, long) for child in value]
    if not isinstance(value, dict):
        return value
    shared = {key: _share_long_patterns(child, long) for key, child in value.items()}
    if not isinstance(shared.get("pattern"), str) or len(shared["pattern"]) < _LONG:
        return shared
    # The message must be beside the pattern.
    part = {key: shared[key] for key in ("pattern", "errorMessage") if key in shared}
    name = next((name for name, definition in long.items() if definition == part), f"pattern {len(long) + 1}")
    long[name] = part
    rest = {key: child for key, child in shared.items() if key != "pattern"}
    return {**rest, "allOf": [*rest.get("allOf", ()), {"$ref": f"#/definitions/{name}"}]}


_LONG = 500
"""The length from which a pattern is shared."""


_SOURCES: tuple[Callable[[ProfileView], Iterator[FieldSchema]], ...] = (
    fixed_fields,
    ruled_fields,
    resource_fields,
    images_by_registry,
    allowed_volumes,
    volume_sizes,
    deadlines,
    reserved_keys,
    banned_fields,
    fields_of_other_targets,
)


def _head(view: ProfileView) -> tuple[Mapping[str, EditorSchema], Sequence[str]]:
    """The schemas of `profile` and `project`, and which of them are required."""
    properties = export_schema(view.library.schemas["run"], "#/definitions/flat", view.library)["properties"]
    name = str(view.profile.id.value)
    if name == DEFAULT_PROFILE:
        names = [name] if name in view.setting.profiles else []
        return {"profile": {**properties["profile"], "enum": [*names, "", None]}}, ()
    profile = {**properties["profile"], "type": "string", "enum": [name], "default": name}
    allowed = view.setting_at("project_profiles")
    if allowed is None:
        return {"profile": profile}, ("profile",)
    default = view.setting_at("project") or view.library.schemas["run"]["properties"]["project"]["default"]
    is_open = name in allowed.get("*", ())
    with_it, without_it = (
        [one for one, names in allowed.items() if (name in names) is wanted] for wanted in (True, False)
    )
    choice: EditorSchema = {"not": {"enum": without_it}} if is_open else {"enum": [*with_it, None]}
    reason = with_reason(f"the platform allows profile {quote(name)} only for some projects")
    is_optional = default in with_it or (is_open and default not in without_it)
    project = intersect(properties["project"], {**choice, **reason})
    return {"profile": profile, "project": project}, ("profile",) if is_optional else ("profile", "project")


def _with_fixed_project(head: Mapping[str, EditorSchema], view: ProfileView) -> Mapping[str, EditorSchema]:
    """The schemas of `profile` and `project`, with the project that the platform fixes."""
    fixed = view.platform.settings.fields.get("project")
    if fixed is None:
        return head
    properties = export_schema(view.library.schemas["run"], "#/definitions/flat", view.library)["properties"]
    project = head.get("project", properties["project"])
    return {**head, "project": {"allOf": [project, {"enum": [fixed.value, None], **view.fixed_by(fixed)}]}}


def _namespace(view: ProfileView) -> EditorSchema:
    namespace = view.platform.settings.fields.get("namespace")
    return {"enum": [namespace.value, None], **view.fixed_by(namespace)} if namespace else {}
