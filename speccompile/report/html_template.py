"""HTML pages from Jinja templates; every value is escaped unless it is passed as markup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup


def filled_page(template: str, values: Mapping[str, Any], markup: Mapping[str, str]) -> str:
    """The template with the values, and with texts that are safe as they are."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    safe = {name: Markup(text) for name, text in markup.items()}  # noqa: S704  ours, or JSON that cannot end its block
    return environment.from_string(template).render(**values, **safe)
