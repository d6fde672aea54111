"""Takes a folder of manifests and those that belong there, gives the files of ours that are left over from runs."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path
from typing import NamedTuple

from speccompile.charts import from_chart_template
from speccompile.diagnostics import has_errors
from speccompile.drift import objects_of
from speccompile.load import MAX_BYTES, read_stream
from speccompile.model import Layer, Node, Platform, Source
from speccompile.names import filled, placeholders
from speccompile.parse import parse
from speccompile.policy import own_labels
from speccompile.search import ANYTHING, Identity, matching

_KEY = "app.kubernetes.io/managed-by"
_US = "speccompile"
_KNOWN = frozenset({"application", "name", "id", "project"})
"""What is known of every run, so that no label that says it is left out."""


class Marks(NamedTuple):
    """The labels by which an object of ours is known."""

    managers: frozenset[str]
    keys: frozenset[str]
    """What it has besides, where the manager is called by a name that others may have too."""


def orphans(root: Path, expected: Container[Path], inputs: frozenset[Identity], platform: Platform) -> tuple[Path, ...]:
    """The files below the root, other than those expected and the inputs, that hold nothing but objects of ours.

    Removing a file is for ever, so all is read as a cluster would: what merely speaks of our label is not ours.
    A platform that does not say who manages its objects has none to be known by.
    """
    marks = _marks(platform)
    listed = matching(root, ANYTHING, inputs) if marks else ()
    return tuple(path for path in listed if isinstance(path, Path) and path not in expected and _is_ours(path, marks))


def _marks(platform: Platform) -> Marks | None:
    patterns = {key: str(node.value) for key, node in own_labels(platform).items()}
    if _KEY not in patterns or {*placeholders(patterns[_KEY])} - {"application"}:
        return None
    application = str(platform.settings.fields["application"].value)
    prefix = str(platform.settings.fields["label_prefix"].value)
    selecting = (str(item.value) for item in platform.settings.fields["selector_labels"].items)
    keys = {key.replace("{label_prefix}", prefix) for key in selecting}
    return Marks(
        frozenset({_US, filled(patterns[_KEY], {"application": application})}),
        frozenset(key for key in keys if {*placeholders(patterns.get(key, ""))} <= _KNOWN),
    )


def _is_ours(path: Path, marks: Marks | None) -> bool:
    try:
        with path.open("rb") as stream:
            read = None if path.is_symlink() else read_stream(stream, str(path), Layer.RUN, MAX_BYTES)
    except OSError:
        # Whose file it is cannot be seen, and so it is not ours to speak of.
        return False
    if marks is None or not isinstance(read, Source) or _KEY not in read.text:
        return False
    parsed = parse(Source(read.name, from_chart_template(read.text), read.layer))
    found = [_labels(item) for document in parsed.documents for item in objects_of(document.root)]
    return bool(found) and not has_errors(parsed.findings) and all(_has_marks(labels, marks) for labels in found)


def _labels(item: Node) -> Mapping[str, Node]:
    labels = item.at(("metadata", "labels"))
    return labels.fields if labels else {}


def _has_marks(labels: Mapping[str, Node], marks: Marks) -> bool:
    manager = labels[_KEY].value if _KEY in labels else None
    return manager == _US or (manager in marks.managers and marks.keys <= labels.keys())
