"""The admin's platform, profiles and templates as the one value that runs are compiled under."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache

from speccompile.compiler.bundled_library import library_of
from speccompile.compiler.documents.platform import read_platform
from speccompile.compiler.documents.profiles import read_profiles
from speccompile.compiler.documents.target_fields import target_findings
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Platform, Profile
from speccompile.model.findings import has_errors
from speccompile.model.input_texts import Admin, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source
from speccompile.schema.library import Library
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed


class Setting(NamedTuple):
    """Everything administrative as one value: what a run is compiled under."""

    library: Library
    platform: Platform
    profiles: Mapping[str, Profile]
    findings: tuple[Diagnostic, ...]

    @property
    def is_broken(self) -> bool:
        """Whether nothing can be compiled under it; the faults of runs can still be told."""
        return has_errors(self.findings)


def prepare(profiles: Iterable[Parsed], platform: Parsed | None, library: Library) -> Setting:
    """The setting, with everything wrong in profiles and platform among its findings; nothing raises."""
    known_platform, found = read_platform(platform, library)
    if has_errors(found):
        known_platform, _ = read_platform(None, library)
    known_profiles, more = read_profiles(profiles, known_platform, library)
    findings = (*target_findings(library), *found, *more)
    return Setting(library=library, platform=known_platform, profiles=known_profiles, findings=findings)


@lru_cache(maxsize=4)
def setting_of(admin: Admin) -> Setting:
    """The setting that the texts of an admin make; a service or a worker gets the same texts again and again."""
    platform = None if admin.platform is None else parsed(admin.platform, Layer.PLATFORM)
    profiles = (parsed(text, Layer.PROFILE) for text in admin.profiles)
    return prepare(profiles, platform, library_of(admin.templates))


def parsed(text: Text, layer: Layer) -> Parsed:
    """The documents of a text or of data; nothing raises."""
    source = Source(text.name, "" if text.is_data else text.text, layer)
    if not text.is_data:
        return parse(source)
    files = [wrap(document, source) for document in json.loads(text.text)]
    documents = tuple(document for file in files for document in file.documents)
    return Parsed(documents, tuple(finding for file in files for finding in file.findings))
