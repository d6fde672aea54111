"""Manifests of a run as text: YAML, JSON, or a template of a Helm chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from speccompile.compiler.compiled import Compiled, Rendered, Result
from speccompile.integrations.helm_chart import as_chart_template
from speccompile.yaml_text.serialize import serialize_json


def _as_json(compiled: Compiled) -> str:
    return serialize_json([manifest.data for manifest in compiled.manifests])


def _as_chart_template(compiled: Compiled) -> str:
    return as_chart_template(compiled.to_yaml())


TEXTS: Mapping[str, Callable[[Compiled], str]] = {
    "yaml": Compiled.to_yaml,
    "json": _as_json,
    "helm": _as_chart_template,
}
"""The serializer of each shape."""


def rendered(results: Iterable[Result], shape: str) -> Iterator[Rendered]:
    """Each result with the text of its manifests, which is empty for an error."""
    write = TEXTS[shape]
    for result in results:
        yield Rendered(result, write(result) if isinstance(result, Compiled) else "")
