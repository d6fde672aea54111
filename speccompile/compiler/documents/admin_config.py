"""Platform, profiles, templates and functions as one value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from speccompile.compiler.bundled_library import bundled_library, library_of
from speccompile.compiler.documents.entities import Entities, read_entities
from speccompile.compiler.documents.platform import fix_project, read_platform
from speccompile.compiler.documents.profiles import read_profiles
from speccompile.compiler.documents.target_fields import target_findings
from speccompile.compiler.documents.untrusted_profiles import restrict_profiles
from speccompile.compiler.documents.unused_templates import unused_templates
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Platform, Profile
from speccompile.model.findings import has_errors
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source
from speccompile.schema.library import Library
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed


class Setting(NamedTuple):
    """The platform, profiles, templates and functions that runs are compiled with."""

    library: Library
    platform: Platform
    profiles: Mapping[str, Profile]
    findings: tuple[Diagnostic, ...]
    entities: Entities = MappingProxyType({})
    """The functions and tasks that exported runs may name."""

    @property
    def is_broken(self) -> bool:
        """Whether it has errors, so that runs can be validated but not compiled."""
        return has_errors(self.findings)


def prepare(  # noqa: PLR0913  what runs are compiled with
    profiles: Iterable[Parsed],
    platform: Parsed | None,
    library: Library,
    project: Parsed | None = None,
    *,
    trusts_profiles: bool = True,
    functions: Iterable[Parsed] = (),
    beside_runs: Iterable[Parsed] = (),
) -> Setting:
    """Read platform, profiles and functions; errors become findings of the result, and nothing raises.

    `beside_runs` are files of runs that contain functions or tasks too.
    """
    platform_read, platform_findings = read_platform(platform, library)
    if has_errors(platform_findings):
        platform_read, _ = read_platform(None, library)
    if project is not None:
        platform_read, project_findings = fix_project(platform_read, project, library)
        platform_findings += project_findings
    profiles_read, profile_findings = read_profiles(profiles, platform_read, library)
    if not trusts_profiles:
        profiles_read, untrusted_findings = restrict_profiles(profiles_read, platform_read, library)
        profile_findings += untrusted_findings
    unused = unused_templates(library, bundled_library()) if library.has_custom_templates else ()
    entities, entity_findings = read_entities(functions, library, beside_runs=beside_runs)
    findings = (*target_findings(library), *unused, *platform_findings, *profile_findings, *entity_findings)
    return Setting(library, platform_read, profiles_read, findings, entities)


@lru_cache(maxsize=4)
def setting_of(admin: AdminTexts) -> Setting:
    """The setting of an admin's texts, cached because services and workers use the same texts for many calls."""
    platform = None if admin.platform is None else parsed(admin.platform, Layer.PLATFORM)
    project = None if admin.project is None else parsed(admin.project, Layer.PLATFORM)
    profiles = (parsed(text, Layer.PROFILE) for text in admin.profiles)
    functions, beside_runs = (
        [parsed(text, Layer.FUNCTION) for text in texts] for texts in (admin.functions, admin.beside_runs)
    )
    return prepare(
        profiles,
        platform,
        library_of(admin.templates),
        project,
        trusts_profiles=admin.trusts_profiles,
        functions=functions,
        beside_runs=beside_runs,
    )


def parsed(text: Text, layer: Layer) -> Parsed:
    """Parse a text, or wrap Python data; nothing raises."""
    source = Source(text.name, text.text, layer)
    if not text.is_data:
        return parse(source)
    files = [wrap(document, source) for document in json.loads(text.text)]
    documents = tuple(document for file in files for document in file.documents)
    return Parsed(documents, tuple(finding for file in files for finding in file.findings))
