"""Jinja environment of a library: sandboxed, strict, with a step count, and printing tokens only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    is_there,
    length_of,
    path_of,
    plain,
    weight,
)
from speccompile.compiler.rendering.template_errors import TemplateFault
from speccompile.schema.library import Library

_LONGEST_MADE = 100_000
_LARGEST_POWER = 64
_DEEPEST_CALL = 32
_CALL = 5
"""Steps that a call takes."""
_MOST_TOKENS = 50_000
"""Words and signs of one template: more would take Jinja seconds to read."""


@lru_cache(maxsize=256)
def template_of(library: Library, name: str) -> Template:
    """The template, compiled once; raises jinja2's TemplateError if there is none, or TemplateFault."""
    return environment_of(library).get_template(name)


@lru_cache(maxsize=8)
def environment_of(library: Library) -> SandboxedEnvironment:
    """Jinja with nothing but the templates: sandboxed, strict, and printing tokens only."""

    def load(name: str) -> tuple[str, str, None] | None:
        text = library.templates.get(name)
        if text is not None and (RESERVED.search(text) or not name.isprintable()):
            message = "the template holds private-use characters, or its name some that cannot be shown"
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
        autoescape=False,  # the output is a skeleton in YAML, and values never pass through it
    )
    # Jinja's own filters and tests look at types, and a reference has the type of what it refers to only in its value.
    environment.filters = {name: on_values(name, filter_) for name, filter_ in environment.filters.items()}
    environment.tests = {name: on_values(name, test) for name, test in environment.tests.items()}
    environment.filters |= {"default": _default, "d": _default, "length": _length, "count": _length, "each": _each}
    environment.filters |= COUNTING_FILTERS
    environment.tests |= {"defined": _is_defined, "undefined": lambda value: not _is_defined(value), "sameas": _is_same}
    for name in _REFUSED:
        del environment.filters[name]
    environment.globals.clear()
    return environment


class _LineMarks(Extension):
    """Marks the end of each line of template text with the line's number."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for number, token in enumerate(stream):
            if number == _MOST_TOKENS:
                raise SecurityError(f"the template has more than {_MOST_TOKENS} words and signs")
            if token.type != "data":
                yield token
                continue
            *ended, last = token.value.split("\n")
            marked = [f"{line}\ue002{stream.name}:{token.lineno + at}\ue003" for at, line in enumerate(ended)]
            yield Token(token.lineno, "data", "\n".join([*marked, last]))


class _Environment(ImmutableSandboxedEnvironment):
    """References answer for themselves; everything else is sandboxed."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    code_generator_class = CountingGenerator

    def getattr(self, obj: Any, attribute: str) -> Any:
        return child_of(obj, attribute) if isinstance(obj, Reference) else super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return child_of(obj, argument) if isinstance(obj, Reference) else super().getitem(obj, argument)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """As everywhere, except that a few characters cannot make a value of gigabytes."""
        one, other = plain(left), plain(right)
        record_of(context).spend(weight([one, other]))
        if (operator == "*" and _times(one, other) > _LONGEST_MADE) or (
            operator == "**" and (other > _LARGEST_POWER or _power(one, other) > _LONGEST_MADE)
        ):
            raise SecurityError(f"`{operator}` would make too large a value")
        if operator == "%" and isinstance(one, str):
            raise SecurityError("`%` does not format text here; use `~`")
        return super().call_binop(context, operator, one, other)

    def call(self, context: Any, obj: Any, /, *arguments: Any, **named: Any) -> Any:
        """Macros, blocks and a few methods of texts, lists and maps can be called, and nothing else."""
        record = record_of(context)
        record.spend(_CALL)
        owner = getattr(obj, "__self__", None)
        if isinstance(obj, (Macro, BlockReference)) or isinstance(owner, LoopContext):
            return self._deeper(context, record, obj, *arguments, **named)
        if isinstance(obj, Undefined):
            return str(obj)
        name = getattr(obj, "__name__", "")
        if name not in _METHODS.get(type(owner), ()):
            what = f"`{name}`" if name and owner is not None else "what is no macro"
            raise SecurityError(f"{what} cannot be called here")
        values, told = [plain(value) for value in arguments], {key: plain(value) for key, value in named.items()}
        record.spend(weight([owner, values, told]))
        return context.call(obj, *values, **told)

    def _deeper(self, context: Any, record: Record, obj: Any, /, *arguments: Any, **named: Any) -> Any:
        if record.depth == _DEEPEST_CALL:
            raise SecurityError(f"macros call each other more than {_DEEPEST_CALL} deep")
        record.depth += 1
        try:
            return super().call(context, obj, *arguments, **named)
        finally:
            record.depth -= 1


@pass_context
def _finalize(context: Mapping[str, Any], value: Any) -> str:
    return str(value) if isinstance(value, Undefined) else record_of(context).token(value)


def _is_defined(value: Any) -> bool:
    return is_there(value) if isinstance(value, Reference) else not isinstance(value, Undefined)


def _default(value: Any, fallback: Any) -> Any:
    if isinstance(value, Undefined):
        # A name that nobody provides is a slip of the pen, and no value that may be missing.
        return str(value)
    return value if _is_defined(value) else fallback


def _is_same(value: Any, other: Any) -> bool:
    # Which objects Python shares is chance: that would give the same run another manifest some day.
    one, two = plain(value), plain(other)
    return type(one) is type(two) and bool(one == two)


def _length(value: Any) -> int:
    return length_of(value) if isinstance(value, Reference) else len(value)


def _each(value: Any, template: Any) -> Each:
    if not isinstance(value, Reference):
        raise ReferenceFault("`each` takes a list of what the template sees")
    return Each(path_of(value), str(plain(template)))


_FORMATTING = ("center", "format", "pprint", "urlize", "xmlattr", "wordwrap", "filesizeformat")
"""Filters that pad or mark up text: nothing a manifest needs, and some can make gigabytes."""
_REFUSED = (*_FORMATTING, "random")
"""These, and the one that would give the same run another manifest each time."""
_OF_TEXT = (
    *("capitalize", "casefold", "count", "endswith", "find", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit"),
    *("islower", "isupper", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rpartition"),
    *("rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper"),
)
_METHODS: Mapping[type, tuple[str, ...]] = {
    str: _OF_TEXT,
    list: ("count", "index"),
    tuple: ("count", "index"),
    dict: ("get", "items", "keys", "values"),
}
"""Methods that can be called: those that change nothing, and make nothing that is much larger than what is given."""


def _times(one: Any, other: Any) -> int:
    """How long a repeated text or list would be; a product of numbers is never long."""
    if isinstance(one, int) and isinstance(other, int):
        return (one.bit_length() + other.bit_length()) // 3
    sizes = [len(value) if hasattr(value, "__len__") else value for value in (one, other)]
    return int(sizes[0] * sizes[1]) if all(isinstance(size, int) for size in sizes) else 0


def _power(one: Any, other: Any) -> int:
    """About how many digits a power has."""
    return one.bit_length() * other // 3 if isinstance(one, int) and isinstance(other, int) else 0
