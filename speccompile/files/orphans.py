"""Manifest files left behind by runs that no longer exist."""

from __future__ import annotations

import stat
from collections.abc import Container
from itertools import takewhile
from pathlib import Path

from speccompile.compiler.pod_structure import members
from speccompile.compiler.policy import platform_labels
from speccompile.files.find import ANYTHING, PROJECT_FILE, Identity, Unlisted, matching
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
_MANAGER = "speccompile"
_KNOWN = frozenset({"application", "name", "id", "project"})
"""Placeholders that every run has a value for, so that labels with them are always present."""
_SKIPPED = (PermissionError, FileNotFoundError)
"""Errors of files that belong to others, or that are being replaced."""
_MIN_LABELS = 4
"""Platform labels, including the manager, that identify an object as generated."""


class LabelMarks(NamedTuple):
    """The labels that identify a generated object."""

    managers: frozenset[str]
    keys: frozenset[str]
    """Labels that are also required if the name of the manager is not unique to speccompile."""


def orphans(root: Path, expected: Container[Path], inputs: frozenset[Identity], platform: Platform) -> tuple[Path, ...]:
    """The files below the root that contain only generated objects, except expected files and inputs.

    Removing a file cannot be undone, so every file is parsed: merely mentioning the label is not enough. Files of
    another project, and those that may not be read, are skipped. Without a label for the manager on the platform, no
    file counts as generated. Raises OSError.
    """
    marks = _marks(platform)
    entries = matching(root, ANYTHING, inputs) if marks else ()
    paths = (path for path in map(_listed, entries) if path and path not in expected)
    return tuple(path for path in paths if not _is_in_other_project(path, root) and _is_generated(path, marks))


def _listed(entry: Path | Unlisted) -> Path | None:
    if isinstance(entry, Path):
        return entry
    if entry.error is None or isinstance(entry.error, _SKIPPED):
        return None
    raise entry.error


def _marks(platform: Platform) -> LabelMarks | None:
    patterns = {key: str(node.value) for key, node in platform_labels(platform).items()}
    if _KEY not in patterns or {*placeholders(patterns[_KEY])} - {"application"}:
        return None
    manager = fill_pattern(patterns[_KEY], {"application": str(platform.settings.fields["application"].value)})
    keys = frozenset(key for key, pattern in patterns.items() if {*placeholders(pattern)} <= _KNOWN)
    return LabelMarks(frozenset({_MANAGER, manager} if len(keys) >= _MIN_LABELS else {_MANAGER}), keys)


def _is_in_other_project(path: Path, root: Path) -> bool:
    return any((folder / PROJECT_FILE).exists() for folder in takewhile(lambda one: one != root, path.parents))


def _is_generated(path: Path, marks: LabelMarks | None) -> bool:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as stream:
            read = read_stream(stream, str(path), Layer.RUN, MAX_MANIFESTS)
    except _SKIPPED:
        return False
    text = from_chart_template(read.text) if isinstance(read, Source) else None
    if marks is None or text is None or _KEY not in text:
        return False
    parsed = parse(Source(str(path), text, Layer.RUN))
    objects = [item for document in parsed.documents for item in members(document.root)]
    return bool(objects) and not has_errors(parsed.findings) and all(_has_marks(item, marks) for item in objects)


def _has_marks(item: Node, marks: LabelMarks) -> bool:
    node = item.at(("metadata", "labels"))
    labels = node.fields if node else {}
    manager = labels[_KEY].value if _KEY in labels else None
    return manager == _MANAGER or (manager in marks.managers and marks.keys <= labels.keys())
