"""Skeletons of manifests, found again by the answers that templates got."""

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

MOST = 1024
"""How many skeletons are kept for a library; those used last stay. The bundled templates have a few dozen."""
Context: TypeAlias = Mapping[str, Node | None]
"""What templates see, by top-level name."""


class Skeleton:
    """A manifest with tokens in place of values, what each token stands for, and the questions it hangs on.

    Nothing of a run is in it but its answers: another run that gives the same answers can fill it as well.
    """

    __slots__ = ("pages", "placed", "questions", "steps", "tree")

    def __init__(self, tree: Node, placed: tuple[Placed, ...], questions: tuple[Question, ...], steps: int = 1) -> None:
        self.tree: Final = tree
        self.placed: Final = placed
        self.questions: Final = questions
        self.steps: Final = steps
        """How much work it was to make it, whoever did it."""
        self.pages: Final[dict[Any, Any]] = {}
        """Its text with holes, by what is there to fill them; see `text_writer.py`."""


class _Fork:
    """A question that decides which skeleton it will be, and what comes of each answer."""

    __slots__ = ("answer", "branches", "operand", "path", "question")

    def __init__(self, question: Question) -> None:
        self.question: Final = question
        self.path: Final = question.path
        self.operand: Final = question.operand
        self.answer: Final[Callable[[Node | None, Any], Any]] = _ANSWERS[question.asked]
        self.branches: Final[dict[Any, _Fork | Skeleton]] = {}


# Answers to one question are of one type, but for values: there `True` must not pass for `1`.
_ANSWERS = {**ANSWERS, "value": lambda node, operand: repr(ANSWERS["value"](node, operand))}


def branch_of(question: Question) -> Any:
    """The answer as it tells skeletons apart."""
    return repr(question.answer) if question.asked == "value" else question.answer


class Shelf:
    """The skeletons of one library, in a tree: a template asks the same questions of whoever answers alike."""

    __slots__ = ("_lock", "_most", "_tops", "_used", "added", "prebuilt")

    def __init__(self, most: int = MOST) -> None:
        self._lock = allocate_lock()
        self._most = most
        self._tops: dict[str, dict[Any, _Fork | Skeleton]] = {}
        self._used: OrderedDict[Skeleton, str] = OrderedDict()
        self.added = 0
        """How many were rendered here, and not lent by another call."""
        self.prebuilt: Mapping[str, str] | None = None
        """Skeletons made ahead, as text, by template; see `prebuilt_skeletons.prebuilt_of`."""

    def __len__(self) -> int:
        return len(self._used)

    def __iter__(self) -> Iterator[tuple[str, Skeleton]]:
        """Templates and skeletons, those used last at the end."""
        return ((template, skeleton) for skeleton, template in self._used.items())

    def knows(self, template: str) -> bool:
        """Whether a skeleton of the template was ever here."""
        return template in self._tops

    def find(self, template: str, context: Context) -> Skeleton | None:
        """The skeleton that the template would give, if it is here."""
        top = self._tops.get(template)
        found = top.get(None) if top else None
        while found.__class__ is _Fork:
            fork: Any = found
            try:
                answer = fork.answer(at(fork.path, context), fork.operand)
            except Exception:  # noqa: BLE001  rendering will raise it again, and knows the line
                return None
            found = fork.branches.get(answer)
        if not isinstance(found, Skeleton):
            return None
        try:
            self._used.move_to_end(found)
        except KeyError:  # another thread has let go of it
            return None
        return found

    def add(self, template: str, skeleton: Skeleton) -> None:
        """Keeps a skeleton that was rendered just now."""
        self.added += 1
        self.keep(template, skeleton)

    def lend(self, template: str, skeleton: Skeleton) -> None:
        """Keeps a skeleton of another call, unless that is mistaken: the template asks otherwise."""
        branches, branch = self._tops.get(template, {}), None
        for question in asked_once(skeleton.questions):
            known = branches.get(branch)
            if isinstance(known, Skeleton) or (known and known.question[:3] != question[:3]):
                return
            branches, branch = known.branches if known else {}, branch_of(question)
        if not isinstance(branches.get(branch), _Fork):
            self.keep(template, skeleton)

    def keep(self, template: str, skeleton: Skeleton) -> None:
        """Puts it where `find` finds it, and lets go of what was used longest ago."""
        with self._lock:
            branches, branch = self._tops.setdefault(template, {}), None
            for question in asked_once(skeleton.questions):
                fork = branches.setdefault(branch, _Fork(question))
                assert isinstance(fork, _Fork)
                assert fork.question[:3] == question[:3], "a template asks the same of those who answered alike"
                branches, branch = fork.branches, branch_of(question)
            if branches.setdefault(branch, skeleton) is skeleton:
                self._used[skeleton] = template
            if len(self._used) > self._most:
                oldest, where = self._used.popitem(last=False)
                self._let_go(where, oldest)

    def _let_go(self, template: str, skeleton: Skeleton) -> None:
        way: list[tuple[dict[Any, _Fork | Skeleton], Any]] = [(self._tops[template], None)]
        for question in asked_once(skeleton.questions):
            branches, branch = way[-1]
            fork = branches[branch]
            assert isinstance(fork, _Fork)
            way.append((fork.branches, branch_of(question)))
        for branches, branch in reversed(way):
            del branches[branch]
            if branches:
                return


def asked_once(questions: tuple[Question, ...]) -> tuple[Question, ...]:
    """The questions without those whose answer is known by then."""
    first: dict[tuple[KeyPath, str, str], Question] = {}
    for question in questions:
        first.setdefault((question.path, question.asked, repr(question.operand)), question)
    return tuple(first.values())


@lru_cache(maxsize=8)
def shelf_of(_: Library) -> Shelf:
    """The shelf of a library; libraries are told apart by identity, and no two share one."""
    return Shelf()


def at(path: KeyPath, context: Context) -> Node | None:
    """The node that templates see at the path."""
    node = context[path[0]]  # type: ignore[index]
    for step in path[1:]:
        if node is None:
            return None
        value = node.value
        node = value.get(step) if value.__class__ is dict else node.at((step,))  # type: ignore[arg-type]
    return node
