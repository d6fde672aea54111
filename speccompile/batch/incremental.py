"""Results of earlier calls that are still valid, by content."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from speccompile.batch.wire_format import Portable, findings_from_portable, findings_to_portable
from speccompile.batch.work_units import UnitOutcome, sources_of
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Profile
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.source import Source

if TYPE_CHECKING:
    from speccompile.compiler.documents.admin_config import Setting

_TABLE = "results"
Digests: TypeAlias = Mapping[str, bytes]
"""A hash of each profile and all its parents, by id."""


class Cache(Protocol):
    """The interface of `cache_store.CacheStore`."""

    def get(self, key: bytes, table: str) -> bytes | None: ...
    def put(self, key: bytes, value: bytes, table: str) -> None: ...


class ResultCache:
    """Results by the content of everything they depend on: run, used profiles, platform, templates and compiler.

    Profiles that a run did not use do not matter. Results with errors are not cached.
    """

    def __init__(  # noqa: PLR0913  everything that a result depends on
        self,
        cache: Cache,
        cache_key: Callable[..., bytes],
        *,
        fingerprint: bytes,
        shape: str,
        admin: AdminTexts,
        setting: Callable[[], Setting],
    ) -> None:
        self._cache: Final = cache
        self._cache_key: Final = cache_key
        self._sources: Final = sources_of(admin)
        functions = (*admin.functions, None, *admin.beside_runs)
        texts = (
            part for text in (admin.platform, admin.project, *functions) for part in (_parts(text) if text else (b"",))
        )
        trust = b"trusted" if admin.trusts_profiles else b"untrusted"
        of_all = (trust, *texts, *(encode(part) for template in admin.templates for part in template))
        self._common_key: Final = cache_key(fingerprint, shape.encode(), *of_all)
        self._setting_key: Final = cache_key(
            fingerprint, b"setting", *of_all, b"", *(part for text in admin.profiles for part in (b"", *_parts(text)))
        )
        self._digests: Digests = {}
        self.findings: Final = self._load_findings(setting)
        """The findings of profiles and platform, which are parsed only if they have changed."""

    def get(self, source: Source) -> UnitOutcome | None:
        """The cached outcome of a file."""
        value = self._cache.get(self._key(source), _TABLE)
        if value is None:
            return None
        needs, results = marshal.loads(value)  # noqa: S302  signed: this program wrote it
        if any(self._digest(name) != digest for name, digest in needs) or not all(map(self._has_sources, results)):
            return None
        return results, ()

    def put(self, source: Source, outcome: UnitOutcome) -> None:
        """Cache the outcome of a file if it has no errors."""
        results, used = outcome
        if not results or any(manifests is None for _, _, manifests in results):
            return
        names = (None,) if used is None else used
        needs = tuple((name, self._digest(name)) for name in names)
        self._put(self._key(source), (needs, results))

    def _load_findings(self, setting: Callable[[], Setting]) -> tuple[Diagnostic, ...]:
        value = self._cache.get(self._setting_key, _TABLE)
        if value is not None:
            findings, self._digests = marshal.loads(value)  # noqa: S302  as above
            if self._has_sources(findings):
                return findings_from_portable(findings, self._sources)
        parsed = setting()
        if not parsed.is_broken:
            self._digests = digests(parsed.profiles, self._cache_key)
            self._put(self._setting_key, (findings_to_portable(parsed.findings, self._sources), self._digests))
        return parsed.findings

    def _key(self, source: Source) -> bytes:
        return self._cache_key(self._common_key, encode(source.name), encode(source.text))

    def _digest(self, name: str | None) -> bytes:
        return self._setting_key if name is None else self._digests.get(name, b"")

    def _has_sources(self, data: Portable) -> bool:
        """Whether all sources that the data names are among the admin's texts."""
        return all(len(ref) != 2 or tuple(ref) in self._sources for ref in data[0])  # noqa: PLR2004  a name without text

    def _put(self, key: bytes, data: Any) -> None:
        try:
            value = marshal.dumps(data)
        except ValueError:
            # Not plain data: the run is compiled again next time.
            return
        self._cache.put(key, value, _TABLE)


def digests(profiles: Mapping[str, Profile], cache_key: Callable[..., bytes]) -> dict[str, bytes]:
    """A hash of each profile: of its file and those of its parents."""
    hashes: dict[str, bytes] = {}
    pending = list(profiles)
    while pending:
        name = pending[-1]
        profile = profiles[name]
        parents = [str(parent.value) for parent in profile.parents]
        missing = [parent for parent in parents if parent not in hashes]
        if name not in hashes and not missing:
            source = profile.source
            hashes[name] = cache_key(encode(source.name), encode(source.text), *(hashes[parent] for parent in parents))
        if name in hashes:
            pending.pop()
        pending += missing
    return hashes


def _parts(text: Text) -> tuple[bytes, ...]:
    return encode(text.name), encode(text.text), b"data" if text.is_data else b"text"


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
