"""Takes two streams of manifests, gives what is different in them as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Manifests: TypeAlias = Mapping[tuple[str, str], Any]
"""Objects by kind and name. No order: a cluster takes them in any, and Helm has one of its own."""
_MOST = 5


def differences(ours: Manifests, theirs: Manifests, *, orders_variables: bool = True) -> list[str]:
    """The first few places where two streams differ, in words; none if they are equal as data."""
    found = [f"missing: {' '.join(key)}" for key in ours.keys() - theirs.keys()]
    found += [f"not asked for: {' '.join(key)}" for key in theirs.keys() - ours.keys()]
    for key in ours.keys() & theirs.keys():
        one, other = ours[key], theirs[key]
        if not orders_variables:
            one, other = _without_order(one), _without_order(other)
        found += (f"{' '.join(key)}{place}" for place in _unequal(one, other, ""))
    return sorted(found)[:_MOST]


def read(text: str) -> Manifests:
    """The objects of a stream, as kubectl would read them; two of one kind and name are an error."""
    return _keyed(_documents(text))


def read_folder(folder: Path) -> Manifests:
    """The objects of all files in a folder and below."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return _keyed(document for path in files for document in _documents(path.read_text(encoding="utf-8")))


def _documents(text: str) -> Iterator[Any]:
    import yaml

    return (document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document is not None)


def _keyed(documents: Iterable[Any]) -> Manifests:
    listed = [((document["kind"], document["metadata"]["name"]), document) for document in documents]
    twice = [key for key, count in Counter(key for key, _ in listed).items() if count > 1]
    if twice:
        raise ValueError(f"more than one {' '.join(twice[0])}")
    return dict(listed)


def _unequal(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in sorted({*ours, *theirs}):
            if key in ours and key in theirs:
                yield from _unequal(ours[key], theirs[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}: only {'ours' if key in ours else 'theirs'} has it"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _unequal(one, other, f"{path}[{index}]")
    elif type(ours) is not type(theirs) or ours != theirs:
        yield f"{path}: ours {ours!r}, theirs {theirs!r}"


def _without_order(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _by_name(item) if key == "env" else _without_order(item) for key, item in value.items()}
    return [_without_order(item) for item in value] if isinstance(value, list) else value


def _by_name(variables: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(variables, key=lambda variable: str(variable["name"]))
