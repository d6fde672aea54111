"""Changes between the manifests of one run before and after."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from speccompile.diff.list_keys import KEYED, by_key, is_unordered
from speccompile.diff.wording import ABSENT, Aspect, Found, Names, Value, element_text, holds_pods, is_of_all, phrase
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Json

_Identity: TypeAlias = tuple[str, str]
_Objects: TypeAlias = Mapping[_Identity, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference in one object; None before means that it was not there, None after that it is no more.

    In the path, an item of a list with keys stands by its key. A path without steps is the object as a whole.
    """

    kind: str
    name: str
    path: KeyPath
    before: Json
    after: Json
    phrase: str
    """For people. Changes that are one to them, such as a label of several objects, have the same phrase."""


def difference(
    before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]], *, own: str = ""
) -> tuple[Change, ...]:
    """The changes, in the order of the manifests; none where they are the same but for orders that mean nothing.

    With `own`, the name that a run's objects have or begin with, phrases say `<run>` in its place.
    """
    old, new = _by_identity(before), _by_identity(after)
    objects = {**new, **{identity: data for identity, data in old.items() if identity not in new}}
    names = Names(own, frozenset((own, *(name for _, name in objects))))
    found = [(identity, one) for identity in objects for one in _compare_objects(old.get(identity), new.get(identity))]
    return tuple(
        Change(
            kind=identity[0],
            name=identity[1],
            path=one.path,
            before=None if one.before is ABSENT else one.before,
            after=None if one.after is ABSENT else one.after,
            phrase=told,
        )
        for (identity, one), told in zip(found, _phrases(found, objects, names), strict=True)
    )


def is_same(before: Value, after: Value, role: str = "") -> bool:
    """Whether two values are equal but for orders that mean nothing; true is not 1, and 1 is not 1.0.

    The role is the key that a list stands under, which decides whether its order means anything.
    """
    if before is ABSENT or after is ABSENT:
        return before is after
    return _canonical(before, role) == _canonical(after, role)


def _canonical(value: Any, role: str = "") -> str:
    """One text for all values that are the same."""
    if isinstance(value, Mapping):
        pairs = sorted((json.dumps(key), _canonical(child, key)) for key, child in value.items())
        return f"{{{','.join(f'{key}:{child}' for key, child in pairs)}}}"
    if isinstance(value, (list, tuple)):
        items = [_canonical(item) for item in value]
        return f"[{','.join(sorted(items) if is_unordered(role) else items)}]"
    return json.dumps(value)


def _by_identity(manifests: Iterable[Mapping[str, Any]]) -> dict[_Identity, Mapping[str, Any]]:
    return {(str(one["kind"]), str(one["metadata"]["name"])): one for one in manifests}


def _phrases(found: Sequence[tuple[_Identity, Found]], objects: _Objects, names: Names) -> Iterator[str]:
    """A phrase for each change; its object is named where others of its kind do not change in the same way."""
    phrases = [phrase(one, names) for _, one in found]
    kinds = Counter(kind for kind, _ in objects)
    alike = Counter((kind, text) for (kind, _), text in dict.fromkeys(zip((i for i, _ in found), phrases, strict=True)))
    for (identity, one), text in zip(found, phrases, strict=True):
        kind, name = identity[0], names.told(identity[1])
        if not one.path:
            yield f"{kind} {name} {'appears' if one.before is ABSENT else 'disappears'}"
        elif holds_pods(objects[identity]) or is_of_all(one.path):
            yield text
        else:
            yield f"{kind}: {text}" if alike[kind, text] == kinds[kind] else f"{kind} {name}: {text}"


def _compare_objects(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[Found]:
    if before is None or after is None:
        yield Found((), ABSENT if before is None else before, ABSENT if after is None else after)
        return
    yield from _compare_maps(before, after, ())


def _compare(before: Value, after: Value, path: KeyPath) -> Iterator[Found]:
    role = str(path[-1])
    if is_same(before, after, role):
        return
    maps, lists = _opened(before, after, dict), _opened(before, after, list)
    if maps:
        yield from _compare_maps(*maps, path)
        return
    keyed = [by_key(role, items) for items in lists] if lists else []
    if keyed and keyed[0] is not None and keyed[1] is not None:
        yield from _compare_keyed(keyed[0], keyed[1], path)
    elif lists and is_unordered(role):
        yield from _compare_sets(*lists, path)
    else:
        yield Found(path, before, after)


def _opened(before: Value, after: Value, kind: type) -> tuple[Any, Any] | None:
    """Both values, if what is there is of the kind; nothing counts as empty, beside a value that is not."""
    there = [value for value in (before, after) if value is not ABSENT]
    if not all(isinstance(value, kind) for value in there) or not any(there):
        return None
    return (kind() if before is ABSENT else before, kind() if after is ABSENT else after)


def _compare_maps(before: Mapping[str, Any], after: Mapping[str, Any], path: KeyPath) -> Iterator[Found]:
    for key in dict.fromkeys((*after, *before)):
        yield from _compare(before.get(key, ABSENT), after.get(key, ABSENT), (*path, key))


def _compare_keyed(before: Mapping[str, Any], after: Mapping[str, Any], path: KeyPath) -> Iterator[Found]:
    for key in dict.fromkeys((*after, *before)):
        if key in before and key in after:
            yield from _compare_maps(before[key], after[key], (*path, key))
        else:
            yield Found((*path, key), before.get(key, ABSENT), after.get(key, ABSENT), Aspect.MEMBER)
    old, new = [key for key in before if key in after], [key for key in after if key in before]
    if old != new and KEYED[str(path[-1])].is_ordered:
        yield Found(path, old, new, Aspect.ORDER)


def _compare_sets(before: Sequence[Any], after: Sequence[Any], path: KeyPath) -> Iterator[Found]:
    """Each item that is on one side only; two that read the same are one change."""
    lost, gained = list(_beyond(before, after)), list(_beyond(after, before))
    read = [element_text(path, item) for item in gained]
    for item in lost:
        text = element_text(path, item)
        if text in read:
            twin = read.index(text)
            read.pop(twin)
            yield Found(path, item, gained.pop(twin), Aspect.ELEMENT)
        else:
            yield Found(path, item, ABSENT, Aspect.ELEMENT)
    yield from (Found(path, ABSENT, item, Aspect.ELEMENT) for item in gained)


def _beyond(items: Sequence[Any], others: Sequence[Any]) -> Iterator[Any]:
    """The items, without as many of each as the others have."""
    left = Counter(map(_canonical, others))
    for item in items:
        text = _canonical(item)
        if left[text]:
            left[text] -= 1
        else:
            yield item
