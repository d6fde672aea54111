"""Explain errors of Jinja, and of expressions in templates, at a line of the template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from jinja2 import TemplateNotFound, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError

from speccompile.compiler.rendering.references import ReferenceFault
from speccompile.compiler.rendering.template_errors import NAMES, TemplateFault
from speccompile.model.diagnostic import quote
from speccompile.schema.library import Library
from speccompile.schema.suggestions import near

_MAX_LENGTH = 300
_ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)
_QUOTED = re.compile(r"'([^'`]*)'")
_NO_SUCH = re.compile(r"No (filter|test) named `(.*)`(?: found)?", re.DOTALL)
_NO_NAME = re.compile(r"`([^` ]*)` is undefined")
_CHECK_HELP = "check the expressions of this line"


def explain_error(
    error: Exception, template: str, library: Library, known: Mapping[str, Iterable[str]]
) -> TemplateFault:
    """Convert an error of Jinja or of an expression; `known` has the names of filters and tests, by kind."""
    name, line = _position(error, template, library)
    text = _clean(str(error)) or type(error).__name__
    if isinstance(error, TemplateSyntaxError):
        name, line = error.name or name, error.lineno
        message, help_text = _syntax_error(_clean(error.message or text), known)
    elif isinstance(error, TemplateNotFound):
        missing = str(error.name or text)
        message = f"template {quote(missing)} not found"
        help_text = _did_you_mean(
            missing, library.templates, "write its directory and file, such as `kubernetes/_env.j2`"
        )
    elif isinstance(error, UndefinedError):
        message, help_text = _undefined(text)
    elif isinstance(error, (ReferenceFault, SecurityError)):
        message, help_text = text, _CHECK_HELP
    elif isinstance(error, (RecursionError, SyntaxError)):
        # Python cannot compile twenty nested loops.
        message = "templates, macros, blocks or expressions are nested too deeply"
        help_text = "check that no template includes itself"
    elif _NO_SUCH.fullmatch(text):
        # In a condition, Jinja looks up filters and tests at run time.
        message, help_text = _syntax_error(text, known)
    else:
        message, help_text = f"an expression cannot be evaluated: {text}", _CHECK_HELP
    return TemplateFault.of(library, name, message, help_text, line)


def _position(error: Exception, template: str, library: Library) -> tuple[str, int]:
    """The template and line of the error, from the traceback."""
    position, traceback = (template, 1), error.__traceback__
    while traceback:
        file = traceback.tb_frame.f_code.co_filename
        position = (file, traceback.tb_lineno) if file in library.templates else position
        traceback = traceback.tb_next
    return position


def _clean(message: str) -> str:
    """A message of Jinja or Python without memory addresses and unprintable characters."""
    text = _QUOTED.sub(r"`\1`", _ADDRESS.sub("", message).strip().removesuffix("."))
    return quote(text, _MAX_LENGTH)[1:-1] if text else ""


def _syntax_error(text: str, known: Mapping[str, Iterable[str]]) -> tuple[str, str]:
    unknown = _NO_SUCH.fullmatch(text)
    if unknown is None:
        return f"invalid template: {text[:1].lower()}{text[1:]}", "fix this line, or one above it"
    kind, name = unknown.groups()
    return f"unknown {kind} `{name}`", _did_you_mean(name, known.get(kind, ()), f"use another {kind}")


def _undefined(text: str) -> tuple[str, str]:
    name = _NO_NAME.fullmatch(text)
    if name is None:
        return text, _CHECK_HELP
    return f"unknown name `{name[1]}`", _did_you_mean(name[1], NAMES, f"use one of {', '.join(NAMES)}")


def _did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    meant = near(name, tuple(known))
    return f"did you mean `{meant}`?" if meant else otherwise
