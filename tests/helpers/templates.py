"""Values for templates, and the answers that they give to a template's questions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from speccompile.compiler.rendering.references import Question, Record, Reference, is_set
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.from_python import wrap

MAIN = "test/main.j2"


def node(data: Any, layer: Layer = Layer.RUN) -> Node:
    return wrap(data, Source(f"<{layer}>", "", layer)).documents[0].root


def answered(question: Question, seen: Mapping[str, Node | None]) -> object:
    """The answer that other values give to a question."""
    root = seen[str(question.path[0])]
    found = root.at(question.path[1:]) if root else None
    reference = Reference(Record(), question.path, found)
    answers: Mapping[str, Callable[[], object]] = {
        "truth": lambda: bool(reference),
        "length": lambda: len(reference),
        "keys": lambda: tuple(reference),
        "contains": lambda: question.operand in reference,
        "equals": lambda: reference == question.operand,
        "there": lambda: is_set(reference),
        "value": lambda: found.plain() if found else None,
    }
    if question.operation in ("lt", "le", "gt", "ge"):
        return found is not None and getattr(operator, question.operation)(found.plain(), question.operand)
    return answers[question.operation]()
