"""Takes what the admin wrote, gives it as the one value that runs are compiled under."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from speccompile.compiler.documents.platform import read_platform
from speccompile.compiler.documents.profiles import read_profiles
from speccompile.compiler.documents.target_fields import target_faults
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Platform, Profile
from speccompile.model.findings import has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.library import Library
from speccompile.yaml_text.parse import Parsed


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
    findings = (*target_faults(library), *found, *more)
    return Setting(library=library, platform=known_platform, profiles=known_profiles, findings=findings)
