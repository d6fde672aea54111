"""Skeletons as JSON, so that rendering needs no Jinja.

`scripts/prepare.py` renders those of the bundled templates for the golden runs and writes `prebuilt_skeletons.json`.
Those of custom templates are stored in the cache between calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from speccompile.compiler.rendering.references import ANSWERS, TOKEN, Computed, Each, Placed, Question
from speccompile.compiler.rendering.skeleton_cache import Skeleton, shelf_of
from speccompile.compiler.rendering.template_errors import NAMES
from speccompile.compiler.rendering.template_spans import template_span
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.schema.library import Library

_TEMPLATES, _USES, _SKELETONS = "templates", "uses", "skeletons"
_VALUE = "value"
_TEMPLATE = ".j2"
_TEMPLATE_NAME = r"[\w./-]+\.j2\b"


def dump_skeletons(skeletons: Iterable[tuple[str, Skeleton]], library: Library) -> str:
    """Serialize the skeletons, with the texts of all templates, because they are valid for these texts only."""
    by_template: dict[str, list[Any]] = {}
    for template, skeleton in skeletons:
        by_template.setdefault(template, []).append(_plain(skeleton, library))
    texts = {name: library.templates[name] for name in sorted(library.templates) if name.endswith(_TEMPLATE)}
    # The skeletons of each template are a separate string, which is parsed only when it is needed.
    skeleton_texts = {
        template: json.dumps(sorted(plain, key=json.dumps), separators=(",", ":"))
        for template, plain in sorted(by_template.items())
    }
    uses = {template: sorted(_used_by(template, texts)) for template in skeleton_texts}
    return json.dumps({_TEMPLATES: texts, _USES: uses, _SKELETONS: skeleton_texts}, indent=1) + "\n"


def _used_by(template: str, texts: Mapping[str, str]) -> Sequence[str]:
    """The template and those that its text names, and theirs.

    A custom template can compute a name. That is safe, because the cache stores skeletons by all custom templates.
    """
    names = [template]
    for name in names:
        named = dict.fromkeys(re.findall(_TEMPLATE_NAME, texts.get(name, "")))
        names += [one for one in named if one not in names]
    return names


class PrebuiltSkeletons(NamedTuple):
    """Skeletons of an earlier call, or bundled ones."""

    texts: Mapping[str, str]
    """All templates that they were built from."""
    uses: Mapping[str, Sequence[str]]
    """By template, itself and those that it uses."""
    skeletons: Mapping[str, str]
    """By template; each text is parsed on first use."""

    def of(self, template: str, library: Library) -> str:
        """The skeletons of a template; empty if there are none, or if the library's templates differ."""
        # A cold start reads only the templates that it needs.
        is_current = template in self.skeletons and all(
            self.texts.get(name) == library.templates.get(name) for name in self.uses[template]
        )
        return self.skeletons[template] if is_current else ""


def prebuilt_of(library: Library) -> PrebuiltSkeletons:
    """The prebuilt skeletons of a library."""
    shelf = shelf_of(library)
    if shelf.prebuilt is None:
        shelf.prebuilt = read_skeletons(library.prebuilt)
    prebuilt: PrebuiltSkeletons = shelf.prebuilt
    return prebuilt


def lend_skeletons(text: str, library: Library) -> None:
    """Use skeletons of an earlier call; they make rendering faster, and change nothing else."""
    shelf_of(library).prebuilt = read_skeletons(text)


def read_skeletons(text: str) -> PrebuiltSkeletons:
    """Parse what `dump_skeletons` wrote; nothing else has skeletons."""
    try:
        data = json.loads(text)
        texts, uses, skeletons = data[_TEMPLATES], data[_USES], data[_SKELETONS]
        _check(all(isinstance(part, str) for each in (texts, skeletons) for item in each.items() for part in item))
        _check(all(isinstance(name, str) for template in skeletons for name in uses[template]))
    except _INVALID:
        return PrebuiltSkeletons({}, {}, {})
    return PrebuiltSkeletons(texts, uses, skeletons)


def load_skeletons(text: str, library: Library) -> Iterator[Skeleton]:
    """Parse the skeletons of one template; invalid ones are skipped."""
    try:
        data = json.loads(text)
    except _INVALID:
        return
    for plain in data if isinstance(data, list) else ():
        try:
            skeleton = _skeleton(plain, library)
        except _INVALID:
            continue
        yield skeleton


_INVALID = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)
"""Errors raised by data that this module did not write."""


def reusable_skeletons(shelf: Iterable[tuple[str, Skeleton]], library: Library) -> Iterator[tuple[str, Skeleton]]:
    """The skeletons that do not depend on a run's values, and that survive serialization unchanged."""
    for template, skeleton in shelf:
        if any(question.operation == _VALUE for question in skeleton.questions):
            continue
        try:
            parsed = _skeleton(json.loads(json.dumps(_plain(skeleton, library))), library)
        except _INVALID:
            continue
        # Compared as text, because `True == 1`, and a key `1` becomes a string.
        if repr((parsed.placed, parsed.questions)) == repr((skeleton.placed, skeleton.questions)):
            yield template, skeleton


def _skeleton(plain: list[Any], library: Library) -> Skeleton:
    """Parse a skeleton. Raises one of `_INVALID` if it is not one of the library's."""
    tree, placed, questions, steps = plain
    texts: list[str] = []
    skeleton = Skeleton(
        _tree(tree, library, texts), tuple(map(_placed, placed)), tuple(map(_question, questions)), steps
    )
    _check(steps.__class__ is int and steps > 0)
    _check(all(int(token) < len(skeleton.placed) for token in TOKEN.findall("\n".join(texts))))
    return skeleton


def _check(is_valid: bool) -> None:
    if not is_valid:
        raise ValueError


def _plain(skeleton: Skeleton, library: Library) -> list[Any]:
    return [
        _plain_node(skeleton.tree, library),
        [_plain_placed(placed) for placed in skeleton.placed],
        [list(question) for question in skeleton.questions],
        skeleton.steps,
    ]


def _plain_node(node: Node, library: Library) -> list[Any]:
    """Template, line and value."""
    value: Any = node.value
    if isinstance(value, dict):
        value = {key: _plain_node(child, library) for key, child in value.items()}
    elif isinstance(value, tuple):
        value = [_plain_node(child, library) for child in value]
    return [library.paths[node.span.source.name], node.span.line, value]


def _tree(plain: list[Any], library: Library, texts: list[str]) -> Node:
    """Parse a tree, and add its keys and strings to `texts`; a cold start parses thousands of nodes."""
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
    path, operation, operand, answer = plain
    _check(operation in ANSWERS)
    # `keys` is the only answer that is a tuple.
    answer = tuple(answer) if operation == "keys" and answer is not None else answer
    # Answers are keys of branches, except for values, which are compared as text.
    _check(operation == _VALUE or isinstance(hash(answer), int))
    return Question(_path(path), operation, operand, answer)
