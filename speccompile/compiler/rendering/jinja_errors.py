"""Errors of Jinja, and of expressions in templates, as faults in plain words at a line of the template."""

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

_LONGEST = 300
_ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.IGNORECASE)
_QUOTED = re.compile(r"'([^'`]*)'")
_NO_SUCH = re.compile(r"No (filter|test) named `(.*)`(?: found)?", re.DOTALL)
_NO_NAME = re.compile(r"`([^` ]*)` is undefined")
_COMPUTED = "the expressions of this line"


def worded(error: Exception, template: str, library: Library, known: Mapping[str, Iterable[str]]) -> TemplateFault:
    """What an error of Jinja, or of an expression, says about the template; `known` has filters and tests by kind."""
    name, line = _place(error, template, library)
    told = _plain(str(error)) or type(error).__name__
    if isinstance(error, TemplateSyntaxError):
        name, line = error.name or name, error.lineno
        message, cure = _misspelt(_plain(error.message or told), known)
    elif isinstance(error, TemplateNotFound):
        message, cure = _missing(str(error.name or told), library)
    elif isinstance(error, UndefinedError):
        message, cure = _undefined(told)
    elif isinstance(error, (ReferenceFault, SecurityError)):
        message, cure = told, f"check {_COMPUTED}"
    elif isinstance(error, (RecursionError, SyntaxError)):
        # Python cannot compile what stands in twenty loops.
        message = "templates, macros, blocks or expressions stand in each other too deeply"
        cure = "see that no template includes itself"
    elif _NO_SUCH.fullmatch(told):
        # In a condition, Jinja looks for filters and tests only when it gets there.
        message, cure = _misspelt(told, known)
    else:
        message, cure = f"an expression cannot be computed: {told}", f"check {_COMPUTED}"
    return TemplateFault.of(library, name, message, cure, line)


def _place(error: Exception, template: str, library: Library) -> tuple[str, int]:
    """The template and line in which the error came up, as far as Jinja tells."""
    place, traceback = (template, 1), error.__traceback__
    while traceback:
        file = traceback.tb_frame.f_code.co_filename
        place = (file, traceback.tb_lineno) if file in library.templates else place
        traceback = traceback.tb_next
    return place


def _plain(words: str) -> str:
    """Words of others with nothing in them that no terminal can show, or that is another in every process."""
    told = _QUOTED.sub(r"`\1`", _ADDRESS.sub("", words).strip().removesuffix("."))
    return quote(told, _LONGEST)[1:-1] if told else ""


def _misspelt(told: str, known: Mapping[str, Iterable[str]]) -> tuple[str, str]:
    unknown = _NO_SUCH.fullmatch(told)
    if unknown is None:
        return f"the template cannot be read: {told[:1].lower()}{told[1:]}", "mend the line, or one above it"
    kind, name = unknown.groups()
    return f"there is no {kind} `{name}`", _did_you_mean(name, known.get(kind, ()), f"use another {kind}")


def _missing(name: str, library: Library) -> tuple[str, str]:
    cure = "name it by its folder and file, such as `kubernetes/_env.j2`"
    return f"there is no template {quote(name)}", _did_you_mean(name, library.templates, cure)


def _undefined(told: str) -> tuple[str, str]:
    name = _NO_NAME.fullmatch(told)
    if name is None:
        return told, f"check {_COMPUTED}"
    return f"there is no name `{name[1]}` here", _did_you_mean(name[1], NAMES, f"a template sees {', '.join(NAMES)}")


def _did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    meant = near(name, tuple(known))
    return f"did you mean `{meant}`?" if meant else otherwise
