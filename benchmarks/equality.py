"""Comparison of two streams of manifests as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Manifests: TypeAlias = Mapping[tuple[str, str], Any]
"""Objects by kind and name, because tools order objects differently."""
_MAX_DIFFERENCES = 5


def differences(expected: Manifests, actual: Manifests, *, keeps_variable_order: bool = True) -> list[str]:
    """List the first few differences; an empty list means equal as data."""
    lines = [f"missing: {' '.join(key)}" for key in expected.keys() - actual.keys()]
    lines += [f"unexpected: {' '.join(key)}" for key in actual.keys() - expected.keys()]
    for key in expected.keys() & actual.keys():
        one, other = expected[key], actual[key]
        if not keeps_variable_order:
            one, other = _sort_variables(one), _sort_variables(other)
        lines += (f"{' '.join(key)}{difference}" for difference in _differences(one, other, ""))
    return sorted(lines)[:_MAX_DIFFERENCES]


def read(text: str) -> Manifests:
    """Parse a stream; two objects of the same kind and name are an error."""
    return _by_kind_and_name(_parse(text))


def read_folder(folder: Path) -> Manifests:
    """Parse all files in a folder and its subfolders."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return _by_kind_and_name(document for path in files for document in _parse(path.read_text(encoding="utf-8")))


def _parse(text: str) -> Iterator[Any]:
    import yaml

    return (document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document is not None)


def _by_kind_and_name(documents: Iterable[Any]) -> Manifests:
    keyed = [((document["kind"], document["metadata"]["name"]), document) for document in documents]
    duplicates = [key for key, count in Counter(key for key, _ in keyed).items() if count > 1]
    if duplicates:
        raise ValueError(f"duplicate {' '.join(duplicates[0])}")
    return dict(keyed)


def _differences(expected: Any, actual: Any, path: str) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in sorted({*expected, *actual}):
            if key in expected and key in actual:
                yield from _differences(expected[key], actual[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}: {'missing' if key in expected else 'unexpected'}"
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]")
    elif type(expected) is not type(actual) or expected != actual:
        yield f"{path}: expected {expected!r}, found {actual!r}"


def _sort_variables(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _by_name(item) if key == "env" else _sort_variables(item) for key, item in value.items()}
    return [_sort_variables(item) for item in value] if isinstance(value, list) else value


def _by_name(variables: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(variables, key=lambda variable: str(variable["name"]))
