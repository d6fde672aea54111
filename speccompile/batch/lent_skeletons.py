"""Skeletons of custom templates, kept from one call to the next, so that a second call needs no Jinja."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from speccompile.batch.incremental import Cache, encoded
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
_MOST = 256
"""Skeletons that go from one call to the next: five times as many as the bundled templates come to."""
_LARGEST = 2 * 1024 * 1024


class LentSkeletons:
    """Skeletons of admins' own templates, which go from one call to the next; they change no result."""

    def __init__(self, cache: Cache, key_of: Callable[..., bytes], stamp: bytes, admin: AdminTexts) -> None:
        self._cache: Final = cache
        self._key: Final = key_of(stamp, *(encoded(part) for template in admin.templates for part in template))
        self._library: Final = library_of(admin.templates)
        known = cache.get(self._key, _TABLE)
        if known is not None:
            lend_skeletons(known.decode("utf-8", "replace"), self._library)

    def keep(self) -> None:
        """Hands on what this call had, if it had to make some of it."""
        library, shelf = self._library, shelf_of(self._library)
        if not shelf.added:
            return
        # What was lent and not wanted this time is handed on as well, and goes first if it is too much.
        prebuilt = prebuilt_of(library)
        unread = [name for name in prebuilt if not shelf.knows(name)]
        others = ((name, skeleton) for name in unread for skeleton in load_skeletons(prebuilt[name], library))
        kept = [*others, *reusable_skeletons(shelf, library)][-_MOST:]
        text = dump_skeletons(kept, library).encode("utf-8")
        if len(text) <= _LARGEST:
            self._cache.put(self._key, text, _TABLE)
