"""Jinja's compiler and filters with a step limit, so that no template runs forever.

Loops and growing values take time. So each iteration costs a step, and each value costs steps by its size wherever it
is created, joined, compared or passed to a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.compiler import CodeGenerator
from jinja2.exceptions import TemplateAssertionError
from jinja2.visitor import NodeTransformer

from speccompile.compiler.rendering.references import Record, ReferenceFault, real_value, weight

RECORD = "the record"
"""The name of the record in the context; templates cannot use a name with a space."""
_STEPS, _LOOP, _CONCAT, _VALUE = "the steps", "the loop", "the concatenation", "the value"
"""Filters that the compiler adds to count steps."""
_GROWING_FILTERS = frozenset({"batch", "indent", "join", "replace", "round", "slice", "sum", "tojson"})
"""Filters whose result can be as large as the product of their arguments."""


def record_of(context: Mapping[str, Any]) -> Record:
    try:
        record: Record = context[RECORD]
    except KeyError:
        raise ReferenceFault("imported templates have no context: write `with context` after the import") from None
    return record


def on_values(name: str, function: Any) -> Callable[..., Any]:
    """Wrap a filter or test: it gets values instead of references, and costs steps."""
    first_argument = getattr(getattr(function, "jinja_pass_arg", None), "name", "")

    @pass_context
    def wrapper(context: Any, *arguments: Any, **named: Any) -> Any:
        record = record_of(context)
        values = [real_value(value) for value in arguments]
        named_values = {key: real_value(value) for key, value in named.items()}
        record.spend(weight([values, named_values]))
        if name in _GROWING_FILTERS:
            record.spend(_growth(*values, *named_values.values()))
        first = {"context": context, "eval_context": context.eval_ctx, "environment": context.environment}.get(
            first_argument
        )
        result = function(*values, **named_values) if first is None else function(first, *values, **named_values)
        if isinstance(result, Iterator):
            # A lazy result would not be counted.
            result = list(result)
        record.spend(weight(result))
        return result

    return wrapper


def _growth(value: Any, *arguments: Any) -> int:
    """An upper bound for the size of the result."""
    size = weight(value)
    # Adding lists to a list copies it for each of them.
    factors = [abs(one) if isinstance(one, int) else len(one) if isinstance(one, str) else size for one in arguments]
    return size * max((1, *factors))


class _CountedLoop:
    """An iterable that costs a step per item."""

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
def _loop(context: Any, value: Any) -> _CountedLoop:
    return _CountedLoop(record_of(context), value)


@pass_context
def _concat(context: Any, *values: Any) -> str:
    record = record_of(context)
    texts = []
    for value in values:
        resolved = real_value(value)
        record.spend(weight(resolved))
        texts.append(str(resolved))
    return "".join(texts)


@pass_context
def _value(context: Any, value: Any) -> Any:
    record_of(context).spend(weight(value))
    return value


COUNTING_FILTERS: Mapping[str, Callable[..., Any]] = {
    _STEPS: _steps,
    _LOOP: _loop,
    _CONCAT: _concat,
    _VALUE: _value,
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
            raise TemplateAssertionError("recursive loops are not supported", node.lineno, self._template)
        self.generic_visit(node)
        node.iter = _counted(_LOOP, node.iter)
        return node

    def visit_Concat(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        first, *others = node.nodes
        return _counted(_CONCAT, first, *others)

    def visit_Operand(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        node.expr = _counted(_VALUE, node.expr)
        return node

    visit_Compare = visit_Operand  # noqa: N815

    def visit_Getitem(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _counted(_VALUE, node.node)
        return node

    def visit_Include(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        node.template = _counted(_VALUE, node.template)
        return node

    visit_Import = visit_FromImport = visit_Include  # noqa: N815

    def visit_List(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        # The target of an assignment may be a tuple too.
        return node if getattr(node, "ctx", "load") != "load" else _counted(_VALUE, node)

    visit_Tuple = visit_Dict = visit_List  # noqa: N815


class CountingGenerator(CodeGenerator):
    """Jinja's compiler, with steps counted for output, loops, concatenation, comparisons and includes."""

    def visit_Template(self, node: Any, frame: Any = None) -> None:  # noqa: N802
        counted = _Counting(self.name).visit(node)
        counted.set_environment(self.environment)
        super().visit_Template(counted, frame)
