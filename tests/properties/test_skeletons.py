"""A cached skeleton fits every run that gives the same answers to its questions."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import product
from typing import Any, NamedTuple

from helpers.cases import LIBRARY, compiled, stages
from helpers.templates import answered
from hypothesis import assume, event, given
from hypothesis import strategies as st

from speccompile.compiler.render import fill, sketch_skeleton
from speccompile.compiler.rendering.skeleton_cache import Skeleton
from speccompile.compiler.rendering.skeleton_from_template import skeleton
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.testing.strategies.documents import Case, cases


class Made(NamedTuple):
    """A skeleton with its template and context."""

    template: str
    context: Mapping[str, Node | None]
    skeleton: Skeleton


def filled(skeleton: Skeleton, context: Mapping[str, Node | None]) -> Node:
    return fill(sketch_skeleton(skeleton, context, LIBRARY))


def skeletons(case: Case) -> list[Made]:
    """The skeleton of every manifest."""
    plan = stages(case).plan
    seen = [(step.template, {**plan.context, "item": step.item}) for step in plan.steps]
    return [Made(template, context, skeleton(template, context, LIBRARY)) for template, context in seen]


def reworded(value: Any, path: KeyPath = ()) -> Any:
    """The run with the same fields and other free texts."""
    if isinstance(value, dict):
        if path and path[-1] in ("parameters", "inputs") and value:
            return {"other": 1}
        if path and path[-1] in ("labels", "annotations", "node_selector") and value:
            return {"other": "value"}
        return {key: reworded(child, (*path, key)) for key, child in value.items()}
    if isinstance(value, list):
        return [reworded(item, (*path, index)) for index, item in enumerate(value)]
    if path[0] in ("name", "project", "args", "command", "image"):
        return f"{value}0" if value else "0"
    if path[-1] in ("mount_path", "sub_path", "value", "file"):
        return f"{str(value).rstrip('/')}x" if path[0] != "node_selector" else value
    return value


@given(cases(alone=True, spelling=False))
def test_references_skeletons_depend_only_on_fields(case: Case) -> None:
    """A run with the same fields and other values has the same questions and skeletons."""
    other = case._replace(run=reworded(case.run))
    assume(compiled(other))
    first, second = skeletons(case), skeletons(other)
    assert [one.template for one in first] == [two.template for two in second]
    for one, two in zip(first, second, strict=True):
        assert one.skeleton.questions == two.skeleton.questions
        assert one.skeleton.tree.plain() == two.skeleton.tree.plain()
        assert one.skeleton.placed == two.skeleton.placed


@st.composite
def changed_runs(draw: st.DrawFn) -> tuple[Case, Case]:
    """A case, and one that differs a little: other words, a field more or less, or another case's field."""
    case = draw(cases(alone=True, spelling=False))
    donor = draw(cases(action=case.run["action"], alone=True, spelling=False))
    run = reworded(case.run) if draw(st.booleans()) else deepcopy(case.run)
    names = st.sampled_from(sorted({*case.run, *donor.run} - {"name", "action"}))
    for name in draw(st.lists(names, min_size=1, max_size=3)):
        if name in donor.run:
            run[name] = donor.run[name]
        elif name != "image":
            run.pop(name, None)
    return case, case._replace(run=run)


@given(changed_runs())
def test_references_equal_answers_mean_equal_skeletons(pair: tuple[Case, Case]) -> None:
    """A cached skeleton fits every run with the same answers, on which caching relies."""
    case, other = pair
    assume(compiled(case) and compiled(other))
    for cached, fresh in product(skeletons(case), skeletons(other)):
        if cached.template != fresh.template:
            continue
        questions = cached.skeleton.questions
        same = all(answered(question, fresh.context) == question.answer for question in questions)
        event(f"same answers: {same}")
        if same:
            assert fresh.skeleton.tree.plain() == cached.skeleton.tree.plain()
            assert fresh.skeleton.placed == cached.skeleton.placed
            assert filled(fresh.skeleton, fresh.context) == filled(cached.skeleton, fresh.context)
