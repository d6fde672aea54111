"""Cache the skeletons of custom templates, so that the next call needs no Jinja."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from speccompile.batch.incremental import Cache, encode
from speccompile.compiler.bundled_library import library_of
from speccompile.compiler.rendering.prebuilt_skeletons import (
    dump_skeletons,
    lend_skeletons,
    load_skeletons,
    prebuilt_of,
    reusable_skeletons,
)
from speccompile.compiler.rendering.skeleton_cache import shelf_of
from speccompile.model.input_texts import AdminTexts

_TABLE = "skeletons"
_MAX_SKELETONS = 256
"""The number of skeletons to cache: five times that of the bundled templates."""
_MAX_BYTES = 2 * 1024 * 1024


class CachedSkeletons:
    """Skeletons of custom templates of earlier calls; they change no result."""

    def __init__(self, cache: Cache, cache_key: Callable[..., bytes], fingerprint: bytes, admin: AdminTexts) -> None:
        self._cache: Final = cache
        self._key: Final = cache_key(fingerprint, *(encode(part) for template in admin.templates for part in template))
        self._library: Final = library_of(admin.templates)
        cached = cache.get(self._key, _TABLE)
        if cached is not None:
            lend_skeletons(cached.decode("utf-8", "replace"), self._library)

    def save(self) -> None:
        """Cache the skeletons of this call if it built any."""
        library, shelf = self._library, shelf_of(self._library)
        if not shelf.added:
            return
        # Unused skeletons of earlier calls are cached again, and dropped first if there are too many.
        prebuilt = prebuilt_of(library)
        unread = [name for name in prebuilt.skeletons if not shelf.knows(name)]
        others = (
            (name, skeleton) for name in unread for skeleton in load_skeletons(prebuilt.of(name, library), library)
        )
        saved = [*others, *reusable_skeletons(shelf, library)][-_MAX_SKELETONS:]
        text = dump_skeletons(saved, library).encode("utf-8")
        if len(text) <= _MAX_BYTES:
            self._cache.put(self._key, text, _TABLE)
