"""Jinja's compiler and filters with a step count, so that no template runs forever.

What can take long is a loop, a text or a list that grows, and whatever goes through it. So each turn counts one, and
each value by its size wherever it is made, joined, compared or handed to a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.compiler import CodeGenerator
from jinja2.exceptions import TemplateAssertionError
from jinja2.visitor import NodeTransformer

from speccompile.compiler.rendering.references import Record, ReferenceFault, plain, weight

RECORD = "the record"
"""What the record of a rendering is called among its names; no template can spell a name with a space in it."""
_STEPS, _TURNS, _JOINED, _WEIGHED = "the steps", "the turns", "the joined", "the weighed"
"""Filters that the compiler puts around what templates do, so that it is counted."""
_GROWING = frozenset({"batch", "indent", "join", "replace", "round", "slice", "sum", "tojson"})
"""Filters that can make more than they are given: as much as it times what stands beside it."""


def record_of(context: Mapping[str, Any]) -> Record:
    try:
        record: Record = context[RECORD]
    except KeyError:
        raise ReferenceFault("what is imported sees nothing: write `with context` behind the import") from None
    return record


def on_values(name: str, function: Any) -> Callable[..., Any]:
    """The filter or test on real values, and counted."""
    wanted = getattr(getattr(function, "jinja_pass_arg", None), "name", "")

    @pass_context
    def called(context: Any, *arguments: Any, **named: Any) -> Any:
        record = record_of(context)
        values, told = [plain(value) for value in arguments], {key: plain(value) for key, value in named.items()}
        record.spend(weight([values, told]))
        if name in _GROWING:
            record.spend(_growth(*values, *told.values()))
        first = {"context": context, "eval_context": context.eval_ctx, "environment": context.environment}.get(wanted)
        made = function(*values, **told) if first is None else function(first, *values, **told)
        if isinstance(made, Iterator):
            # What is made when it is asked for would be made uncounted.
            made = list(made)
        record.spend(weight(made))
        return made

    return called


def _growth(value: Any, *beside: Any) -> int:
    """The most that the value and what stands beside it can come to."""
    whole = weight(value)
    # To add lists to a list is to copy it for each of them.
    sizes = [abs(one) if isinstance(one, int) else len(one) if isinstance(one, str) else whole for one in beside]
    return whole * max((1, *sizes))


class _Turns:
    """What a loop goes through, each turn counted."""

    def __init__(self, record: Record, value: Any) -> None:
        self._record, self._value = record, value

    def __iter__(self) -> Iterator[Any]:
        for item in self._value:
            self._record.spend(1)
            yield item

    def __len__(self) -> int:
        return len(self._value)


@pass_context
def _steps(context: Any, count: int) -> None:
    record_of(context).spend(count)


@pass_context
def _turns(context: Any, value: Any) -> _Turns:
    return _Turns(record_of(context), value)


@pass_context
def _joined(context: Any, *values: Any) -> str:
    record = record_of(context)
    texts = []
    for value in values:
        known = plain(value)
        record.spend(weight(known))
        texts.append(str(known))
    return "".join(texts)


@pass_context
def _weighed(context: Any, value: Any) -> Any:
    record_of(context).spend(weight(value))
    return value


COUNTING_FILTERS: Mapping[str, Callable[..., Any]] = {
    _STEPS: _steps,
    _TURNS: _turns,
    _JOINED: _joined,
    _WEIGHED: _weighed,
}


def _counted(name: str, node: Any, *others: Any) -> Any:
    return nodes.Filter(node, name, [*others], [], None, None, lineno=node.lineno)


class _Counting(NodeTransformer):
    def __init__(self, template: str | None) -> None:
        self._template = template

    def visit_Output(self, node: Any) -> Any:  # noqa: N802  named after the node
        self.generic_visit(node)
        text = sum(len(one.data) for one in node.nodes if isinstance(one, nodes.TemplateData))
        size = nodes.Const(1 + text // 16, lineno=node.lineno)
        return [nodes.ExprStmt(_counted(_STEPS, size), lineno=node.lineno), node]

    def visit_For(self, node: Any) -> Any:  # noqa: N802
        if node.recursive:
            raise TemplateAssertionError("a loop cannot be recursive here", node.lineno, self._template)
        self.generic_visit(node)
        node.iter = _counted(_TURNS, node.iter)
        return node

    def visit_Concat(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        first, *others = node.nodes
        return _counted(_JOINED, first, *others)

    def visit_Operand(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        node.expr = _counted(_WEIGHED, node.expr)
        return node

    visit_Compare = visit_Operand  # noqa: N815

    def visit_Getitem(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _counted(_WEIGHED, node.node)
        return node

    def visit_Include(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        node.template = _counted(_WEIGHED, node.template)
        return node

    visit_Import = visit_FromImport = visit_Include  # noqa: N815

    def visit_List(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        # What is assigned to may stand in a tuple as well.
        return node if getattr(node, "ctx", "load") != "load" else _counted(_WEIGHED, node)

    visit_Tuple = visit_Dict = visit_List  # noqa: N815


class CountingGenerator(CodeGenerator):
    """Jinja's compiler, which has whatever can take long counted: text, loops, joining, comparing, including."""

    def visit_Template(self, node: Any, frame: Any = None) -> None:  # noqa: N802
        changed = _Counting(self.name).visit(node)
        changed.set_environment(self.environment)
        super().visit_Template(changed, frame)
