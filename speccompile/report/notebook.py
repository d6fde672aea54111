"""Results and findings as HTML for notebooks."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping

from speccompile.compiler.compiled import Compiled
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.finding_text import findings_as_text, summary
from speccompile.model.findings import CompileError
from speccompile.report.explain_text import as_listing
from speccompile.terminal.style import Paint, plain

_PRIVATE = range(0xE000, 0xF8FF)
_LOOKS: Mapping[str, tuple[str, str]] = {
    "error": ("b", "color:#d1242f"),
    "warning": ("b", "color:#9a6700"),
    "notice": ("b", "color:#0a7ea4"),
    "run": ("span", "color:#1f6feb"),
    "profile": ("span", "color:#1a7f37"),
    "platform": ("span", "color:#8250df"),
    "template": ("span", "color:#7d8590"),
    "quiet": ("span", "color:#7d8590"),
    "title": ("b", ""),
    "overridden": ("del", ""),
}
"""The element and style of each kind of text; the colours are legible on white and on black."""


def compiled_html(compiled: Compiled) -> str:
    """Every manifest with the origin of each value, and the findings, collapsed."""
    names = ", ".join(f"{manifest.kind} {manifest.name}" for manifest in compiled.manifests)
    listing = _as_html(lambda paint: as_listing(compiled, paint))
    folded = [f"<details open><summary>{html.escape(names)}</summary>{listing}</details>"]
    if compiled.diagnostics:
        findings = findings_html(compiled.diagnostics)
        folded.append(f"<details><summary>{summary(compiled.diagnostics)}</summary>{findings}</details>")
    return "".join(folded)


def error_html(error: CompileError) -> str:
    """The findings of an error."""
    return findings_html(error.diagnostics)


def findings_html(diagnostics: Iterable[Diagnostic]) -> str:
    """The findings as on a terminal."""
    findings = tuple(diagnostics)
    return _as_html(lambda paint: findings_as_text(findings, paint))


def _as_html(write: Callable[[Paint], str]) -> str:
    """Preformatted HTML of painted text; everything else is escaped."""
    text = write(plain)
    unused = (char for char in map(chr, _PRIVATE) if char not in text)
    begin, middle, end = (next(unused) for _ in range(3))

    def paint(painted: str, kind: str) -> str:
        return f"{begin}{kind}{middle}{painted}{end}{kind}{middle}"

    def tag(match: re.Match[str]) -> str:
        sign, kind = match.groups()
        element, style = _LOOKS[kind]
        opening = f'<{element} style="{style}">' if style else f"<{element}>"
        return opening if sign == begin else f"</{element}>"

    marked = re.sub(f"([{begin}{end}])([a-z]+){middle}", tag, html.escape(write(paint)))
    return f'<pre style="white-space:pre;overflow-x:auto;line-height:1.35">{marked}</pre>'
