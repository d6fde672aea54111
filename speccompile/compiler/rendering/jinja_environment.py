"""Jinja environment of a library: sandboxed and strict, with a step limit and tokens for values."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import FunctionLoader, StrictUndefined, Template, Undefined, pass_context
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.runtime import BlockReference, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

from speccompile.compiler.rendering.jinja_step_limit import COUNTING_FILTERS, CountingGenerator, on_values, record_of
from speccompile.compiler.rendering.references import (
    RESERVED,
    Each,
    Record,
    Reference,
    ReferenceFault,
    child_of,
    is_set,
    length_of,
    real_value,
    reference_path,
    weight,
)
from speccompile.compiler.rendering.template_errors import TemplateFault
from speccompile.schema.library import Library

_MAX_RESULT_LENGTH = 100_000
_MAX_EXPONENT = 64
_MAX_CALL_DEPTH = 32
_CALL_STEPS = 5
"""Steps that a call costs."""
_MAX_TOKENS = 50_000
"""Lexer tokens of one template; more would take Jinja seconds to compile."""


@lru_cache(maxsize=256)
def compiled_template(library: Library, name: str) -> Template:
    """The template, compiled once. Raises TemplateFault, or jinja2's TemplateError."""
    return environment_of(library).get_template(name)


@lru_cache(maxsize=8)
def environment_of(library: Library) -> SandboxedEnvironment:
    """The Jinja environment of the library: sandboxed, strict, without globals."""

    def load(name: str) -> tuple[str, str, None] | None:
        text = library.templates.get(name)
        if text is not None and (RESERVED.search(text) or not name.isprintable()):
            message = "the template contains private-use characters, or its name unprintable ones"
            raise TemplateFault.of(library, name, message, "remove them")
        return None if text is None else (text, name, None)

    environment = _Environment(
        loader=FunctionLoader(load),
        extensions=[_LineMarks],
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the output is YAML with tokens, without values
    )
    # Jinja's filters and tests check types, so they get values instead of references.
    environment.filters = {name: on_values(name, filter_) for name, filter_ in environment.filters.items()}
    environment.tests = {name: on_values(name, test) for name, test in environment.tests.items()}
    environment.filters |= {name: on_values(name, filter_) for name, filter_ in _OWN_FILTERS.items()}
    environment.filters |= {"default": _default, "d": _default, "length": _length, "count": _length, "each": _each}
    environment.filters |= COUNTING_FILTERS
    environment.tests |= {"defined": _is_defined, "undefined": lambda value: not _is_defined(value), "sameas": _is_same}
    for name in _REMOVED_FILTERS:
        del environment.filters[name]
    environment.globals.clear()
    return environment


class _LineMarks(Extension):
    """Marks the end of each line of template text with the line's number."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for number, token in enumerate(stream):
            if number == _MAX_TOKENS:
                raise SecurityError(f"the template has more than {_MAX_TOKENS} tokens")
            if token.type != "data":
                yield token
                continue
            *complete, last = token.value.split("\n")
            marked = [f"{line}\ue002{stream.name}:{token.lineno + at}\ue003" for at, line in enumerate(complete)]
            yield Token(token.lineno, "data", "\n".join([*marked, last]))


class _Environment(ImmutableSandboxedEnvironment):
    """Sandbox in which references resolve their own attributes and items."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    code_generator_class = CountingGenerator

    def getattr(self, obj: Any, attribute: str) -> Any:
        return child_of(obj, attribute) if isinstance(obj, Reference) else super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return child_of(obj, argument) if isinstance(obj, Reference) else super().getitem(obj, argument)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute an operator on values, unless the result would be too large."""
        one, other = real_value(left), real_value(right)
        record_of(context).spend(weight([one, other]))
        if (operator == "*" and _product_length(one, other) > _MAX_RESULT_LENGTH) or (
            operator == "**" and (other > _MAX_EXPONENT or _power_length(one, other) > _MAX_RESULT_LENGTH)
        ):
            raise SecurityError(f"the result of `{operator}` would be too large")
        if operator == "%" and isinstance(one, str):
            raise SecurityError("`%` cannot format strings here; use `~`")
        return super().call_binop(context, operator, one, other)

    def call(self, context: Any, obj: Any, /, *arguments: Any, **named: Any) -> Any:
        """Call a macro, a block, or one of the allowed methods of strings, lists and maps."""
        record = record_of(context)
        record.spend(_CALL_STEPS)
        owner = getattr(obj, "__self__", None)
        if isinstance(obj, (Macro, BlockReference)) or isinstance(owner, LoopContext):
            return self._call_nested(context, record, obj, *arguments, **named)
        if isinstance(obj, Undefined):
            return str(obj)
        name = getattr(obj, "__name__", "")
        if name not in _METHODS.get(type(owner), ()):
            what = f"`{name}`" if name and owner is not None else "this value"
            raise SecurityError(f"{what} cannot be called here")
        values = [real_value(value) for value in arguments]
        named_values = {key: real_value(value) for key, value in named.items()}
        record.spend(weight([owner, values, named_values]))
        return context.call(obj, *values, **named_values)

    def _call_nested(self, context: Any, record: Record, obj: Any, /, *arguments: Any, **named: Any) -> Any:
        if record.depth == _MAX_CALL_DEPTH:
            raise SecurityError(f"macros are nested more than {_MAX_CALL_DEPTH} levels deep")
        record.depth += 1
        try:
            return super().call(context, obj, *arguments, **named)
        finally:
            record.depth -= 1


@pass_context
def _finalize(context: Mapping[str, Any], value: Any) -> str:
    return str(value) if isinstance(value, Undefined) else record_of(context).token(value)


def _is_defined(value: Any) -> bool:
    return is_set(value) if isinstance(value, Reference) else not isinstance(value, Undefined)


def _default(value: Any, fallback: Any) -> Any:
    if isinstance(value, Undefined):
        # An unknown name is a mistake, unlike an unset value; str raises UndefinedError.
        return str(value)
    return value if _is_defined(value) else fallback


def _is_same(value: Any, other: Any) -> bool:
    # Identity of Python objects is not deterministic, so values are compared.
    one, two = real_value(value), real_value(other)
    return type(one) is type(two) and bool(one == two)


def _length(value: Any) -> int:
    return length_of(value) if isinstance(value, Reference) else len(value)


def _each(value: Any, template: Any) -> Each:
    if not isinstance(value, Reference):
        raise ReferenceFault("`each` needs a list of the template's context")
    return Each(reference_path(value), str(real_value(template)))


def _b64encode(text: str) -> str:
    return b64encode(text.encode()).decode("ascii")


def _b64decode(text: str) -> str:
    return b64decode(text, validate=True).decode()


_OWN_FILTERS: Mapping[str, Callable[[str], str]] = {"b64encode": _b64encode, "b64decode": _b64decode}
"""Filters that Jinja lacks: base64 of UTF-8 text."""
_FORMATTING_FILTERS = ("center", "format", "pprint", "urlize", "xmlattr", "wordwrap", "filesizeformat")
"""Filters that pad or mark up text, which manifests do not need; some can produce gigabytes."""
_REMOVED_FILTERS = (*_FORMATTING_FILTERS, "random")
"""Formatting filters, and `random`, which is not deterministic."""
_STRING_METHODS = (
    *("capitalize", "casefold", "count", "endswith", "find", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit"),
    *("islower", "isupper", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rpartition"),
    *("rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper"),
)
_METHODS: Mapping[type, tuple[str, ...]] = {
    str: _STRING_METHODS,
    list: ("count", "index"),
    tuple: ("count", "index"),
    dict: ("get", "items", "keys", "values"),
}
"""Methods that can be called: those without side effects whose result is not much larger than their arguments."""


def _product_length(one: Any, other: Any) -> int:
    """The length of a repeated string or list, or about the number of digits of a product."""
    if isinstance(one, int) and isinstance(other, int):
        return (one.bit_length() + other.bit_length()) // 3
    sizes = [len(value) if hasattr(value, "__len__") else value for value in (one, other)]
    return int(sizes[0] * sizes[1]) if all(isinstance(size, int) for size in sizes) else 0


def _power_length(one: Any, other: Any) -> int:
    """About the number of digits of a power."""
    return one.bit_length() * other // 3 if isinstance(one, int) and isinstance(other, int) else 0
