"""Manifest files left behind by runs that no longer exist."""

from __future__ import annotations

import stat
from collections.abc import Container, Mapping
from itertools import takewhile
from pathlib import Path

from speccompile.compiler.pod_structure import members
from speccompile.compiler.policy import platform_labels
from speccompile.files.find import ANYTHING, PROJECT_FILE, Identity, matching
from speccompile.files.read import MAX_MANIFESTS, read_stream
from speccompile.integrations.helm_chart import from_chart_template
from speccompile.model.documents import Platform
from speccompile.model.findings import has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.object_names import fill_pattern, placeholders
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse

_KEY = "app.kubernetes.io/managed-by"
_US = "speccompile"
_KNOWN = frozenset({"application", "name", "id", "project"})
"""What is known of every run, so that no label that says it is left out."""
_ENOUGH = 4
"""Labels of its own, the manager's among them, by which the objects of a platform are taken for ours."""


class Marks(NamedTuple):
    """The labels by which an object of ours is known."""

    managers: frozenset[str]
    keys: frozenset[str]
    """What it has besides, where the manager is called by a name that others may have too."""


def orphans(root: Path, expected: Container[Path], inputs: frozenset[Identity], platform: Platform) -> tuple[Path, ...]:
    """The files below the root, other than those expected and the inputs, that hold nothing but objects of ours.

    Removing a file is for ever, so all is read as a cluster would: what merely speaks of our label is not ours. Nor is
    what is below another project file. A platform that does not say who manages its objects has none to be known by.
    """
    marks = _marks(platform)
    listed = matching(root, ANYTHING, inputs) if marks else ()
    paths = (path for path in listed if isinstance(path, Path) and path not in expected)
    return tuple(path for path in paths if not _is_of_another(path, root) and _is_ours(path, marks))


def _marks(platform: Platform) -> Marks | None:
    patterns = {key: str(node.value) for key, node in platform_labels(platform).items()}
    if _KEY not in patterns or {*placeholders(patterns[_KEY])} - {"application"}:
        return None
    manager = fill_pattern(patterns[_KEY], {"application": str(platform.settings.fields["application"].value)})
    keys = frozenset(key for key, pattern in patterns.items() if {*placeholders(pattern)} <= _KNOWN)
    return Marks(frozenset({_US, manager} if len(keys) >= _ENOUGH else {_US}), keys)


def _is_of_another(path: Path, root: Path) -> bool:
    return any((folder / PROJECT_FILE).exists() for folder in takewhile(lambda one: one != root, path.parents))


def _is_ours(path: Path, marks: Marks | None) -> bool:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as stream:
            read = read_stream(stream, str(path), Layer.RUN, MAX_MANIFESTS)
    except OSError:
        # Whose file it is cannot be seen, and so it is not ours to speak of.
        return False
    text = from_chart_template(read.text) if isinstance(read, Source) else None
    if marks is None or text is None or _KEY not in text:
        return False
    parsed = parse(Source(str(path), text, Layer.RUN))
    found = [_labels(item) for document in parsed.documents for item in members(document.root)]
    return bool(found) and not has_errors(parsed.findings) and all(_has_marks(labels, marks) for labels in found)


def _labels(item: Node) -> Mapping[str, Node]:
    labels = item.at(("metadata", "labels"))
    return labels.fields if labels else {}


def _has_marks(labels: Mapping[str, Node], marks: Marks) -> bool:
    manager = labels[_KEY].value if _KEY in labels else None
    return manager == _US or (manager in marks.managers and marks.keys <= labels.keys())
