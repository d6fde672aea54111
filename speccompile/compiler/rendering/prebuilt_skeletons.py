"""Skeletons as text that another process can read, so that rendering needs no Jinja.

Those of the bundled templates are made ahead from the golden runs, by `scripts/prepare.py`, in
`prebuilt_skeletons.json`. Those of custom templates go from one call to the next, in the cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from speccompile.compiler.rendering.references import ANSWERS, TOKEN, Computed, Each, Placed, Question
from speccompile.compiler.rendering.skeleton_cache import Skeleton, shelf_of
from speccompile.compiler.rendering.template_errors import NAMES
from speccompile.compiler.rendering.template_spans import template_span
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.schema.library import Library

_TEMPLATES, _SKELETONS = "templates", "skeletons"
_VALUE = "value"
_TEMPLATE = ".j2"


def written(skeletons: Iterable[tuple[str, Skeleton]], library: Library) -> str:
    """The skeletons by template, with the texts of all templates: made from other texts, they would be others."""
    told: dict[str, list[Any]] = {}
    for template, skeleton in skeletons:
        told.setdefault(template, []).append(_plain(skeleton, library))
    texts = {name: library.templates[name] for name in sorted(library.templates) if name.endswith(_TEMPLATE)}
    # Each template's skeletons are text of their own, so that only those are read that are wanted.
    apart = {
        template: json.dumps(sorted(plain, key=json.dumps), separators=(",", ":"))
        for template, plain in sorted(told.items())
    }
    return json.dumps({_TEMPLATES: texts, _SKELETONS: apart}, indent=1) + "\n"


def prebuilt_of(library: Library) -> Mapping[str, str]:
    """The skeletons made ahead, each still text, by template: those of an earlier call, or those that ship with it."""
    shelf = shelf_of(library)
    if shelf.prebuilt is None:
        shelf.prebuilt = fitting(library.prebuilt, library) if library.prebuilt else {}
    return shelf.prebuilt


def lend(text: str, library: Library) -> None:
    """Take over skeletons that an earlier call made: they change nothing but how long rendering takes."""
    shelf_of(library).prebuilt = fitting(text, library)


def fitting(text: str, library: Library) -> Mapping[str, str]:
    """The skeletons by template, each still text; none if they were made from templates that the library has not."""
    try:
        told = json.loads(text)
        known: Mapping[str, str] = told[_SKELETONS]
        fits = all(library.templates.get(name) == source for name, source in told[_TEMPLATES].items())
        is_text = all(isinstance(part, str) for skeletons in known.items() for part in skeletons)
    except _MISTAKES:
        return {}
    return known if fits and is_text else {}


def read(text: str, library: Library) -> Iterator[Skeleton]:
    """The skeletons of one template; what is none that the library's templates can have given is passed over."""
    try:
        told = json.loads(text)
    except _MISTAKES:
        return
    for plain in told if isinstance(told, list) else ():
        try:
            known = _skeleton(plain, library)
        except _MISTAKES:
            continue
        yield known


_MISTAKES = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)
"""What comes of reading text that this module did not write."""


def of_any_run(shelf: Iterable[tuple[str, Skeleton]], library: Library) -> Iterator[tuple[str, Skeleton]]:
    """Of templates and skeletons, those that hang on no value of one run, and that come back as they were."""
    for template, skeleton in shelf:
        if any(question.asked == _VALUE for question in skeleton.questions):
            continue
        try:
            again = _skeleton(json.loads(json.dumps(_plain(skeleton, library))), library)
        except _MISTAKES:
            continue
        # By how they are written: to Python `True` is `1`, and a key `1` comes back as text.
        if repr((again.placed, again.questions)) == repr((skeleton.placed, skeleton.questions)):
            yield template, skeleton


def _skeleton(plain: list[Any], library: Library) -> Skeleton:
    """Raises one of the mistakes if it is no skeleton of the library."""
    tree, placed, questions, steps = plain
    texts: list[str] = []
    made = Skeleton(_tree(tree, library, texts), tuple(map(_placed, placed)), tuple(map(_question, questions)), steps)
    _check(steps.__class__ is int and steps > 0)
    _check(all(int(token) < len(made.placed) for token in TOKEN.findall("\n".join(texts))))
    return made


def _check(is_good: bool) -> None:
    if not is_good:
        raise ValueError


def _plain(skeleton: Skeleton, library: Library) -> list[Any]:
    return [
        _plain_node(skeleton.tree, library),
        [_plain_placed(placed) for placed in skeleton.placed],
        [list(question) for question in skeleton.questions],
        skeleton.steps,
    ]


def _plain_node(node: Node, library: Library) -> list[Any]:
    """Template and line, then what stands there."""
    value: Any = node.value
    if isinstance(value, dict):
        value = {key: _plain_node(child, library) for key, child in value.items()}
    elif isinstance(value, tuple):
        value = [_plain_node(child, library) for child in value]
    return [library.paths[node.span.source.name], node.span.line, value]


def _tree(plain: list[Any], library: Library, texts: list[str]) -> Node:
    """The tree, whose keys and strings are added to the texts: every cold start reads some thousand of them."""
    name, line, value = plain
    if line.__class__ is not int or line <= 0:
        raise ValueError
    if isinstance(value, dict):
        texts += value
        value = {key: _tree(child, library, texts) for key, child in value.items()}
    elif isinstance(value, list):
        value = tuple([_tree(child, library, texts) for child in value])
    elif isinstance(value, str):
        texts.append(value)
    return Node(value, template_span(library, name, line))


def _plain_placed(placed: Placed) -> Any:
    if isinstance(placed, Computed):
        return {"value": placed.value, "read": placed.read}
    if isinstance(placed, Each):
        return {"each": placed.path, "template": placed.template}
    return placed


def _placed(plain: Any) -> Placed:
    if isinstance(plain, list):
        return _path(plain)
    if "each" in plain:
        _check(isinstance(plain["template"], str))
        return Each(_path(plain["each"]), plain["template"])
    return Computed(plain["value"], tuple(map(_path, plain["read"])))


def _path(plain: Any) -> KeyPath:
    _check(isinstance(plain, list) and plain[0] in NAMES and all(step.__class__ in (str, int) for step in plain))
    return tuple(plain)


def _question(plain: list[Any]) -> Question:
    path, asked, operand, answer = plain
    _check(asked in ANSWERS)
    # Keys are the one answer that is a tuple.
    known = tuple(answer) if asked == "keys" and answer is not None else answer
    # Real values are told apart by how they are written, all other answers by what they are.
    _check(asked == _VALUE or isinstance(hash(known), int))
    return Question(_path(path), asked, operand, known)
