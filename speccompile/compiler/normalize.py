"""Takes a validated tree of fields, gives every field in its canonical shape, and what no single value could show."""

from __future__ import annotations

from speccompile.compiler.normalizers import NORMALIZERS, Context
from speccompile.compiler.policy import RULES_OF_A_LAYER
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Platform
from speccompile.model.node import Node
from speccompile.schema.library import Library


def normalize(
    fields: Node, platform: Platform, library: Library, gpu_key: str | None = None
) -> tuple[Node, tuple[Diagnostic, ...]]:
    """The fields in the order of the schema, each in its one shape; applying it again changes nothing.

    `gpu` stands for the given key, which a profile may choose, else for the platform's.
    """
    context = Context(library, platform, gpu_key or str(platform.settings.fields["gpu_key"].value), [])
    said = fields.fields
    canonical = {
        name: NORMALIZERS[name](said[name], context) if name in NORMALIZERS else said[name]
        for name in library.fields
        if name in said
    }
    tree = fields.with_fields(canonical)
    broken = (finding for rule in RULES_OF_A_LAYER for finding in rule(tree, platform))
    return tree, (*context.findings, *broken)
