"""Takes a library, gives its templates as Jinja runs them: sandboxed, strict, and printing tokens only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any

from speccompile.library import Library
from speccompile.references import RESERVED, Each, Record, Reference, child_of, is_there, length_of, path_of, plain

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment

RECORD = "the record"
"""What the record of a rendering is called among its names; no template can spell a name with a space in it."""
_LONGEST_MADE = 100_000
_LARGEST_POWER = 64


class TemplateFault(Exception):  # noqa: N818  a fault of the template, which for a bundled one is a bug of ours
    """A template that does not give a manifest; the message names template and line."""


@lru_cache(maxsize=256)
def template_of(library: Library, name: str) -> Template:
    """The template, compiled once; raises jinja2's TemplateError if there is none, or TemplateFault."""
    return _environment(library).get_template(name)


@lru_cache(maxsize=8)
def _environment(library: Library) -> SandboxedEnvironment:
    """Jinja with nothing but the templates: sandboxed, strict, and printing tokens only."""
    from jinja2 import FunctionLoader, StrictUndefined, Undefined, pass_context  # slow to import
    from jinja2.exceptions import SecurityError
    from jinja2.ext import Extension
    from jinja2.lexer import Token, TokenStream
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class LineMarks(Extension):
        """Marks the end of each line of template text with the line's number."""

        def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
            for token in stream:
                if token.type != "data":
                    yield token
                    continue
                *ended, last = token.value.split("\n")
                marked = [f"{line}\ue002{stream.name}:{token.lineno + at}\ue003" for at, line in enumerate(ended)]
                yield Token(token.lineno, "data", "\n".join([*marked, last]))

    class Environment(ImmutableSandboxedEnvironment):
        """References answer for themselves; everything else is sandboxed."""

        intercepted_binops = frozenset({"*", "**", "%"})

        def getattr(self, obj: Any, attribute: str) -> Any:
            return child_of(obj, attribute) if isinstance(obj, Reference) else super().getattr(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            return child_of(obj, argument) if isinstance(obj, Reference) else super().getitem(obj, argument)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            """As everywhere, except that a few characters cannot make a value of gigabytes."""
            one, other = plain(left), plain(right)
            if (operator == "*" and _times(one, other) > _LONGEST_MADE) or (
                operator == "**" and other > _LARGEST_POWER
            ):
                raise SecurityError(f"`{operator}` would make too large a value")
            if operator == "%" and isinstance(one, str):
                raise SecurityError("`%` does not format text here; use `~`")
            return super().call_binop(context, operator, one, other)

    @pass_context
    def finalize(context: Mapping[str, Any], value: Any) -> str:
        if isinstance(value, Undefined):
            return str(value)
        record: Record = context[RECORD]
        return record.token(value)

    def load(name: str) -> tuple[str, str, None] | None:
        text = library.templates.get(name)
        if text is not None and RESERVED.search(text):
            raise TemplateFault(f"{name}: the template holds private-use characters")
        return None if text is None else (text, name, None)

    def is_defined(value: Any) -> bool:
        return is_there(value) if isinstance(value, Reference) else not isinstance(value, Undefined)

    def default(value: Any, fallback: Any) -> Any:
        if isinstance(value, Undefined):
            # A name that nobody provides is a slip of the pen, and no value that may be missing.
            return str(value)
        return value if is_defined(value) else fallback

    def is_same(value: Any, other: Any) -> bool:
        # Which objects Python shares is chance: that would give the same run another manifest some day.
        one, two = plain(value), plain(other)
        return type(one) is type(two) and bool(one == two)

    def length(value: Any) -> int:
        return length_of(value) if isinstance(value, Reference) else len(value)

    def each(value: Any, template: Any) -> Each:
        if not isinstance(value, Reference):
            raise TypeError("`each` takes a list of what the template sees")
        return Each(path_of(value), str(plain(template)))

    environment = Environment(
        loader=FunctionLoader(load),
        extensions=[LineMarks],
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the output is a skeleton in YAML, and values never pass through it
    )
    # Jinja's own filters and tests look at types, and a reference has the type of what it refers to only in its value.
    environment.filters = {name: _on_values(filter_) for name, filter_ in environment.filters.items()}
    environment.tests = {name: _on_values(test) for name, test in environment.tests.items()}
    environment.filters |= {"default": default, "d": default, "length": length, "count": length, "each": each}
    environment.tests |= {"defined": is_defined, "undefined": lambda value: not is_defined(value), "sameas": is_same}
    for name in _REFUSED:
        del environment.filters[name]
    environment.globals.clear()
    return environment


_FORMATTING = ("center", "format", "pprint", "urlize", "xmlattr", "wordwrap", "filesizeformat")
"""Filters that pad or mark up text: nothing a manifest needs, and some can make gigabytes."""
_REFUSED = (*_FORMATTING, "random")
"""These, and the one that would give the same run another manifest each time."""


def _on_values(function: Any) -> Callable[..., Any]:
    @wraps(function)
    def on_values(*arguments: Any, **named: Any) -> Any:
        return function(*(plain(value) for value in arguments), **{key: plain(value) for key, value in named.items()})

    return on_values


def _times(one: Any, other: Any) -> int:
    """How long a repeated text or list would be; a product of numbers is never long."""
    if isinstance(one, int) and isinstance(other, int):
        return (one.bit_length() + other.bit_length()) // 3
    sizes = [len(value) if hasattr(value, "__len__") else value for value in (one, other)]
    return int(sizes[0] * sizes[1]) if all(isinstance(size, int) for size in sizes) else 0
