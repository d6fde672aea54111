"""Open the cache on disk: results of earlier calls, and skeletons of custom templates."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from speccompile.batch.cache_store import cache_key, open_cache
from speccompile.batch.compiler_fingerprint import local_fingerprint
from speccompile.batch.incremental import ResultCache
from speccompile.files.work import Work
from speccompile.model.input_texts import AdminTexts

if TYPE_CHECKING:
    from speccompile.batch.cached_skeletons import CachedSkeletons


def open_caches(
    work: Work, shape: str, admin: AdminTexts, stack: ExitStack
) -> tuple[ResultCache | None, CachedSkeletons | None]:
    """Open both caches until the stack closes; None if the compiler has no fingerprint or there are no templates."""
    fingerprint = local_fingerprint()
    if fingerprint is None:
        return None, None
    cache = stack.enter_context(open_cache())
    results = ResultCache(
        cache, cache_key, fingerprint=fingerprint, shape=shape, admin=admin, setting=lambda: work.setting
    )
    if not admin.templates:
        return results, None
    from speccompile.batch.cached_skeletons import CachedSkeletons

    return results, CachedSkeletons(cache, cache_key, fingerprint, admin)
