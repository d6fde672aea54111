"""Takes skeletons, gives them as text that another process can read, and back: rendering without Jinja.

The bundled templates have theirs made ahead, by `scripts/prepare.py` from the golden runs, in `prepared.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from speccompile.library import Library
from speccompile.model import Node
from speccompile.origins import template_span
from speccompile.references import Computed, Each, Placed, Question
from speccompile.skeletons import Skeleton

_TEMPLATES, _SKELETONS = "templates", "skeletons"


def written(skeletons: Iterable[tuple[str, Skeleton]], library: Library) -> str:
    """The skeletons by template, with the texts of all templates: made from other texts, they would be others."""
    told: dict[str, list[Any]] = {}
    for template, skeleton in skeletons:
        told.setdefault(template, []).append(_plain(skeleton))
    texts = {name: library.templates[name] for name in sorted(library.templates)}
    # Each template's skeletons are text of their own, so that only those are read that are wanted.
    apart = {
        template: json.dumps(sorted(plain, key=json.dumps), separators=(",", ":"))
        for template, plain in sorted(told.items())
    }
    return json.dumps({_TEMPLATES: texts, _SKELETONS: apart}, indent=1) + "\n"


def fitting(text: str, library: Library) -> Mapping[str, str]:
    """The skeletons by template, each still text; none if they were made from templates that the library has not."""
    try:
        told = json.loads(text)
        known: Mapping[str, str] = told[_SKELETONS]
        fits = all(library.templates.get(name) == source for name, source in told[_TEMPLATES].items())
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return known if fits else {}


def read(text: str, library: Library) -> Iterator[Skeleton]:
    """The skeletons of one template."""
    for tree, placed, questions in json.loads(text):
        yield Skeleton(_tree(tree, library), tuple(map(_placed, placed)), tuple(map(_question, questions)))


def _plain(skeleton: Skeleton) -> list[Any]:
    return [
        _plain_node(skeleton.tree),
        [_plain_placed(placed) for placed in skeleton.placed],
        [list(question) for question in skeleton.questions],
    ]


def _plain_node(node: Node) -> list[Any]:
    """Template and line, then what stands there."""
    value: Any = node.value
    if isinstance(value, dict):
        value = {key: _plain_node(child) for key, child in value.items()}
    elif isinstance(value, tuple):
        value = [_plain_node(child) for child in value]
    return [node.span.source.name, node.span.line, value]


def _tree(plain: list[Any], library: Library) -> Node:
    name, line, value = plain
    if isinstance(value, dict):
        value = {key: _tree(child, library) for key, child in value.items()}
    elif isinstance(value, list):
        value = tuple([_tree(child, library) for child in value])
    return Node(value, template_span(library, name, line))


def _plain_placed(placed: Placed) -> Any:
    if isinstance(placed, Computed):
        return {"value": placed.value, "read": placed.read}
    if isinstance(placed, Each):
        return {"each": placed.path, "template": placed.template}
    return placed


def _placed(plain: Any) -> Placed:
    if isinstance(plain, list):
        return tuple(plain)
    if "each" in plain:
        return Each(tuple(plain["each"]), plain["template"])
    return Computed(plain["value"], tuple(map(tuple, plain["read"])))


def _question(plain: list[Any]) -> Question:
    path, asked, operand, answer = plain
    # Keys are the one answer that is a tuple.
    return Question(tuple(path), asked, operand, tuple(answer) if asked == "keys" and answer is not None else answer)
