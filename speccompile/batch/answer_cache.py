"""Answers of earlier calls, from the cache on disk."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from speccompile.batch.cache_store import Kept, key_of, opened
from speccompile.batch.compiler_fingerprint import local_stamp
from speccompile.batch.incremental import Recall
from speccompile.files.work import Work
from speccompile.model.input_texts import AdminTexts

if TYPE_CHECKING:
    from speccompile.batch.lent_skeletons import LentSkeletons


def opened_recall(
    work: Work, shape: str, admin: AdminTexts, stack: ExitStack
) -> tuple[Recall | None, LentSkeletons | None]:
    """What was compiled before, and skeletons of custom templates, until the stack closes; nothing without a cache."""
    stamp = local_stamp()
    if stamp is None:
        return None, None
    cache = stack.enter_context(opened())
    lent = _lent(cache, stamp, admin) if admin.templates else None
    return Recall(cache, key_of, stamp=stamp, shape=shape, admin=admin, setting=lambda: work.setting), lent


def _lent(cache: Kept, stamp: bytes, admin: AdminTexts) -> LentSkeletons:
    from speccompile.batch.lent_skeletons import LentSkeletons

    return LentSkeletons(cache, key_of, stamp, admin)
