"""Answers of earlier calls that are still valid, by content."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from speccompile.batch.wire_format import Portable, findings_from_portable, findings_to_portable
from speccompile.batch.work_units import Answer, sources_of
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Profile
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.source import Source

if TYPE_CHECKING:
    from speccompile.compiler.documents.admin_config import Setting

_TABLE = "results"
Digests: TypeAlias = Mapping[str, bytes]
"""What each profile comes to, with all its parents, by id."""


class Cache(Protocol):
    """What `cache_store.py` offers."""

    def get(self, key: bytes, table: str) -> bytes | None: ...
    def put(self, key: bytes, value: bytes, table: str) -> None: ...


class Recall:
    """Answers by content: of the run, of the profiles that it asked for, of platform, templates and compiler.

    What was never asked for, and cannot change the answer, does not count. Answers with errors are not kept.
    """

    def __init__(  # noqa: PLR0913  all that an answer depends on
        self,
        cache: Cache,
        key_of: Callable[..., bytes],
        *,
        stamp: bytes,
        shape: str,
        admin: AdminTexts,
        setting: Callable[[], Setting],
    ) -> None:
        self._cache: Final = cache
        self._key_of: Final = key_of
        self._known: Final = sources_of(admin)
        platform = _parts(admin.platform) if admin.platform else ()
        of_all = (*platform, *(encoded(part) for template in admin.templates for part in template))
        self._head: Final = key_of(stamp, shape.encode(), *of_all)
        self._whole: Final = key_of(
            stamp, b"setting", *of_all, b"", *(part for text in admin.profiles for part in (b"", *_parts(text)))
        )
        self._digests: Digests = {}
        self.findings: Final = self._settled(setting)
        """What is wrong with profiles and platform, which are understood only if they are new."""

    def answer(self, source: Source) -> Answer | None:
        """What the file came to, if that is known."""
        value = self._cache.get(self._key(source), _TABLE)
        if value is None:
            return None
        needs, results = marshal.loads(value)  # noqa: S302  the cache gives back what we put there, or nothing
        if any(self._digest(name) != digest for name, digest in needs) or not all(map(self._is_told, results)):
            return None
        return results, ()

    def keep(self, source: Source, answer: Answer) -> None:
        """Keeps the answer of a file if it has no errors."""
        results, asked = answer
        if not results or any(made is None for _, _, made in results):
            return
        names = (None,) if asked is None else asked
        needs = tuple((name, self._digest(name)) for name in names)
        self._put(self._key(source), (needs, results))

    def _settled(self, setting: Callable[[], Setting]) -> tuple[Diagnostic, ...]:
        value = self._cache.get(self._whole, _TABLE)
        if value is not None:
            findings, self._digests = marshal.loads(value)  # noqa: S302  as above
            if self._is_told(findings):
                return findings_from_portable(findings, self._known)
        known = setting()
        if not known.is_broken:
            self._digests = digests(known.profiles, self._key_of)
            self._put(self._whole, (findings_to_portable(known.findings, self._known), self._digests))
        return known.findings

    def _key(self, source: Source) -> bytes:
        return self._key_of(self._head, encoded(source.name), encoded(source.text))

    def _digest(self, name: str | None) -> bytes:
        return self._whole if name is None else self._digests.get(name, b"")

    def _is_told(self, data: Portable) -> bool:
        """Whether all sources that the data names are at hand."""
        return all(len(ref) != 2 or tuple(ref) in self._known for ref in data[0])  # noqa: PLR2004  a name, and no text

    def _put(self, key: bytes, data: Any) -> None:
        try:
            value = marshal.dumps(data)
        except ValueError:
            # Not plain data after all: nothing is lost but time.
            return
        self._cache.put(key, value, _TABLE)


def digests(profiles: Mapping[str, Profile], key_of: Callable[..., bytes]) -> dict[str, bytes]:
    """What each profile comes to: its file, and its parents'."""
    found: dict[str, bytes] = {}
    pending = list(profiles)
    while pending:
        name = pending[-1]
        profile = profiles[name]
        parents = [str(parent.value) for parent in profile.parents]
        missing = [parent for parent in parents if parent not in found]
        if name not in found and not missing:
            source = profile.source
            found[name] = key_of(encoded(source.name), encoded(source.text), *(found[parent] for parent in parents))
        if name in found:
            pending.pop()
        pending += missing
    return found


def _parts(text: Text) -> tuple[bytes, ...]:
    return encoded(text.name), encoded(text.text), b"data" if text.is_data else b"text"


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
