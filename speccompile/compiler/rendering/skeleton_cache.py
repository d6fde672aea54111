"""Cache of manifest skeletons, found by the answers to the questions of templates."""

from __future__ import annotations

from _thread import allocate_lock  # `threading` costs a millisecond of every call
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from speccompile.compiler.rendering.references import ANSWERS, Placed, Question
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.schema.library import Library

MAX_SKELETONS = 1024
"""Skeletons cached for a library, least recently used dropped first. The bundled templates have a few dozen."""
TemplateContext: TypeAlias = Mapping[str, Node | None]
"""The values that templates can use, by top-level name."""


class Skeleton:
    """A manifest with tokens for values, what replaces each token, and the questions that it depends on.

    It contains nothing of a run but its answers, so every run with the same answers can fill it.
    """

    __slots__ = ("pages", "placed", "questions", "steps", "tree")

    def __init__(self, tree: Node, placed: tuple[Placed, ...], questions: tuple[Question, ...], steps: int = 1) -> None:
        self.tree: Final = tree
        self.placed: Final = placed
        self.questions: Final = questions
        self.steps: Final = steps
        """What it cost to render, counted also when it comes from a cache."""
        self.pages: Final[dict[Any, Any]] = {}
        """Its text with holes, by which values are set; see `text_writer.py`."""


class _Fork:
    """A question, with the next question or the skeleton for each answer."""

    __slots__ = ("answer", "branches", "operand", "path", "question")

    def __init__(self, question: Question) -> None:
        self.question: Final = question
        self.path: Final = question.path
        self.operand: Final = question.operand
        self.answer: Final[Callable[[Node | None, Any], Any]] = _ANSWERS[question.operation]
        self.branches: Final[dict[Any, _Fork | Skeleton]] = {}


# Answers to a question have one type, except for values, where `True` must differ from `1`.
_ANSWERS = {**ANSWERS, "value": lambda node, operand: repr(ANSWERS["value"](node, operand))}


def branch_of(question: Question) -> Any:
    """The answer as a key of branches."""
    return repr(question.answer) if question.operation == "value" else question.answer


class Shelf:
    """The skeletons of one library, in a tree of questions: same answers, same next question."""

    __slots__ = ("_lock", "_most", "_tops", "_used", "added", "prebuilt")

    def __init__(self, most: int = MAX_SKELETONS) -> None:
        self._lock = allocate_lock()
        self._most = most
        self._tops: dict[str, dict[Any, _Fork | Skeleton]] = {}
        self._used: OrderedDict[Skeleton, str] = OrderedDict()
        self.added = 0
        """How many were rendered by this call."""
        self.prebuilt: Any = None
        """The `PrebuiltSkeletons`; see `prebuilt_skeletons.prebuilt_of`."""

    def __len__(self) -> int:
        return len(self._used)

    def __iter__(self) -> Iterator[tuple[str, Skeleton]]:
        """Templates and skeletons, most recently used last."""
        return ((template, skeleton) for skeleton, template in self._used.items())

    def knows(self, template: str) -> bool:
        """Whether a skeleton of the template was ever cached."""
        return template in self._tops

    def find(self, template: str, context: TemplateContext) -> Skeleton | None:
        """The cached skeleton that rendering the template would produce."""
        top = self._tops.get(template)
        branch = top.get(None) if top else None
        while branch.__class__ is _Fork:
            fork: Any = branch
            try:
                answer = fork.answer(context_node(fork.path, context), fork.operand)
            except Exception:  # noqa: BLE001  rendering raises it again, with the line
                return None
            branch = fork.branches.get(answer)
        if not isinstance(branch, Skeleton):
            return None
        try:
            self._used.move_to_end(branch)
        except KeyError:  # another thread has dropped it
            return None
        return branch

    def add(self, template: str, skeleton: Skeleton) -> None:
        """Cache a skeleton that this call rendered."""
        self.added += 1
        self.insert(template, skeleton)

    def lend(self, template: str, skeleton: Skeleton) -> None:
        """Cache a skeleton of another call, unless its questions differ from those of the template."""
        branches, branch = self._tops.get(template, {}), None
        for question in unique_questions(skeleton.questions):
            known = branches.get(branch)
            if isinstance(known, Skeleton) or (known and known.question[:3] != question[:3]):
                return
            branches, branch = known.branches if known else {}, branch_of(question)
        if not isinstance(branches.get(branch), _Fork):
            self.insert(template, skeleton)

    def insert(self, template: str, skeleton: Skeleton) -> None:
        """Cache a skeleton, and drop the least recently used one if there are too many."""
        with self._lock:
            branches, branch = self._tops.setdefault(template, {}), None
            for question in unique_questions(skeleton.questions):
                fork = branches.setdefault(branch, _Fork(question))
                assert isinstance(fork, _Fork)
                assert fork.question[:3] == question[:3], "same answers lead to the same question"
                branches, branch = fork.branches, branch_of(question)
            if branches.setdefault(branch, skeleton) is skeleton:
                self._used[skeleton] = template
            if len(self._used) > self._most:
                oldest, where = self._used.popitem(last=False)
                self._drop(where, oldest)

    def _drop(self, template: str, skeleton: Skeleton) -> None:
        path: list[tuple[dict[Any, _Fork | Skeleton], Any]] = [(self._tops[template], None)]
        for question in unique_questions(skeleton.questions):
            branches, branch = path[-1]
            fork = branches[branch]
            assert isinstance(fork, _Fork)
            path.append((fork.branches, branch_of(question)))
        for branches, branch in reversed(path):
            del branches[branch]
            if branches:
                return


def unique_questions(questions: tuple[Question, ...]) -> tuple[Question, ...]:
    """The questions without repetitions."""
    first: dict[tuple[KeyPath, str, str], Question] = {}
    for question in questions:
        first.setdefault((question.path, question.operation, repr(question.operand)), question)
    return tuple(first.values())


@lru_cache(maxsize=8)
def shelf_of(_: Library) -> Shelf:
    """The shelf of a library, by the identity of the library."""
    return Shelf()


def context_node(path: KeyPath, context: TemplateContext) -> Node | None:
    """The value at a path of the context."""
    node = context[path[0]]  # type: ignore[index]
    for step in path[1:]:
        if node is None:
            return None
        value = node.value
        node = value.get(step) if value.__class__ is dict else node.at((step,))  # type: ignore[arg-type]
    return node
