"""Semantic difference between two versions of the manifests of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from speccompile.diff.list_keys import KEYED, is_unordered, items_by_key
from speccompile.diff.wording import (
    ABSENT,
    Aspect,
    Difference,
    ManifestValue,
    ObjectNames,
    describe,
    element_text,
    has_pod_template,
    is_shared_metadata,
)
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Json

_Identity: TypeAlias = tuple[str, str]
_Objects: TypeAlias = Mapping[_Identity, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestChange:
    """One difference in one object. `before` is None for an added value, and `after` for a removed one.

    In the path, a list item with a key is identified by the key. An empty path means the whole object.
    """

    kind: str
    name: str
    path: KeyPath
    before: Json
    after: Json
    summary: str
    """The change in words, the same for equivalent changes such as a label of several objects."""


def difference(
    before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]], *, run_name: str = ""
) -> tuple[ManifestChange, ...]:
    """The changes in the order of the manifests, ignoring differences in order that have no meaning.

    With `run_name`, the prefix of the names of the run's objects, summaries contain `<run>` instead of it.
    """
    old, new = _by_identity(before), _by_identity(after)
    objects = {**new, **{identity: data for identity, data in old.items() if identity not in new}}
    names = ObjectNames(run_name, frozenset((run_name, *(name for _, name in objects))))
    differences = [
        (identity, one) for identity in objects for one in _compare_objects(old.get(identity), new.get(identity))
    ]
    return tuple(
        ManifestChange(
            kind=identity[0],
            name=identity[1],
            path=one.path,
            before=None if one.before is ABSENT else one.before,
            after=None if one.after is ABSENT else one.after,
            summary=summary,
        )
        for (identity, one), summary in zip(differences, _summaries(differences, objects, names), strict=True)
    )


def is_same(before: ManifestValue, after: ManifestValue, role: str = "") -> bool:
    """Whether two values are equal apart from order that has no meaning; true differs from 1, and 1 from 1.0.

    `role` is the key of a list, which determines whether its order has a meaning.
    """
    if before is ABSENT or after is ABSENT:
        return before is after
    return _canonical(before, role) == _canonical(after, role)


def _canonical(value: Any, role: str = "") -> str:
    """A text that is equal for values that are the same."""
    if isinstance(value, Mapping):
        pairs = sorted((json.dumps(key), _canonical(child, key)) for key, child in value.items())
        return f"{{{','.join(f'{key}:{child}' for key, child in pairs)}}}"
    if isinstance(value, (list, tuple)):
        items = [_canonical(item) for item in value]
        return f"[{','.join(sorted(items) if is_unordered(role) else items)}]"
    return json.dumps(value)


def _by_identity(manifests: Iterable[Mapping[str, Any]]) -> dict[_Identity, Mapping[str, Any]]:
    return {(str(one["kind"]), str(one["metadata"]["name"])): one for one in manifests}


def _summaries(
    differences: Sequence[tuple[_Identity, Difference]], objects: _Objects, names: ObjectNames
) -> Iterator[str]:
    """A summary of each difference, with the name of the object unless all objects of its kind change alike."""
    summaries = [describe(one, names) for _, one in differences]
    kinds = Counter(kind for kind, _ in objects)
    identities = (identity for identity, _ in differences)
    alike = Counter((kind, text) for (kind, _), text in dict.fromkeys(zip(identities, summaries, strict=True)))
    for (identity, one), text in zip(differences, summaries, strict=True):
        kind, name = identity[0], names.with_placeholder(identity[1])
        if not one.path:
            yield f"{kind} {name} {'added' if one.before is ABSENT else 'removed'}"
        elif has_pod_template(objects[identity]) or is_shared_metadata(one.path):
            yield text
        else:
            yield f"{kind}: {text}" if alike[kind, text] == kinds[kind] else f"{kind} {name}: {text}"


def _compare_objects(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[Difference]:
    if before is None or after is None:
        yield Difference((), ABSENT if before is None else before, ABSENT if after is None else after)
        return
    yield from _compare_maps(before, after, ())


def _compare(before: ManifestValue, after: ManifestValue, path: KeyPath) -> Iterator[Difference]:
    role = str(path[-1])
    if is_same(before, after, role):
        return
    maps, lists = _opened(before, after, dict), _opened(before, after, list)
    if maps:
        yield from _compare_maps(*maps, path)
        return
    keyed = [items_by_key(role, items) for items in lists] if lists else []
    if keyed and keyed[0] is not None and keyed[1] is not None:
        yield from _compare_keyed(keyed[0], keyed[1], path)
    elif lists and is_unordered(role):
        yield from _compare_sets(*lists, path)
    else:
        yield Difference(path, before, after)


def _opened(before: ManifestValue, after: ManifestValue, kind: type) -> tuple[Any, Any] | None:
    """Both values if they are of the type, with an empty one for an absent value; None otherwise."""
    present = [value for value in (before, after) if value is not ABSENT]
    if not all(isinstance(value, kind) for value in present) or not any(present):
        return None
    return (kind() if before is ABSENT else before, kind() if after is ABSENT else after)


def _compare_maps(before: Mapping[str, Any], after: Mapping[str, Any], path: KeyPath) -> Iterator[Difference]:
    for key in dict.fromkeys((*after, *before)):
        yield from _compare(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))


def _compare_keyed(before: Mapping[str, Any], after: Mapping[str, Any], path: KeyPath) -> Iterator[Difference]:
    for key in dict.fromkeys((*after, *before)):
        if key in before and key in after:
            yield from _compare_maps(before[key], after[key], (*path, key))
        else:
            yield Difference((*path, key), before.get(key, ABSENT), after.get(key, ABSENT), Aspect.MEMBER)
    old, new = [key for key in before if key in after], [key for key in after if key in before]
    if old != new and KEYED[str(path[-1])].is_ordered:
        yield Difference(path, old, new, Aspect.ORDER)


def _compare_sets(before: Sequence[Any], after: Sequence[Any], path: KeyPath) -> Iterator[Difference]:
    """The items on one side only; a removed and an added item with the same text are one change."""
    removed, added = list(_without(after, before)), list(_without(before, after))
    added_texts = [element_text(path, item) for item in added]
    for item in removed:
        text = element_text(path, item)
        if text in added_texts:
            index = added_texts.index(text)
            added_texts.pop(index)
            yield Difference(path, item, added.pop(index), Aspect.ELEMENT)
        else:
            yield Difference(path, item, ABSENT, Aspect.ELEMENT)
    yield from (Difference(path, ABSENT, item, Aspect.ELEMENT) for item in added)


def _without(others: Sequence[Any], items: Sequence[Any]) -> Iterator[Any]:
    """The items minus the others, counting duplicates."""
    remaining = Counter(map(_canonical, others))
    for item in items:
        text = _canonical(item)
        if remaining[text]:
            remaining[text] -= 1
        else:
            yield item
