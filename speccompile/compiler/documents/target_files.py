"""Names of the files a target consists of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.node import Node

ABOUT = "target.yaml"
FIELDS = "fields.schema.json"
Findings: TypeAlias = tuple[Diagnostic, ...]


def names_in(files: Iterable[str]) -> tuple[str, ...]:
    """The targets among the files of a library: the folders that have a `target.yaml`."""
    return tuple(sorted(path.removesuffix(f"/{ABOUT}") for path in files if path.endswith(f"/{ABOUT}")))


def template_of(file: Node, name: str) -> str:
    """The path of a template in the library; one without a folder is beside the target's file."""
    return str(file.value) if "/" in str(file.value) else f"{name}/{file.value}"
