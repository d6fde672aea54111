"""Takes a validated tree of fields, gives every field in its canonical shape, and what no single value could show."""

from __future__ import annotations

from speccompile.canon import NORMALIZERS, Context
from speccompile.diagnostics import Diagnostic
from speccompile.library import Library
from speccompile.model import Node, Platform
from speccompile.policy import RULES_OF_A_LAYER


def normalize(fields: Node, platform: Platform, library: Library) -> tuple[Node, tuple[Diagnostic, ...]]:
    """The fields in the order of the schema, each in its one shape; applying it again changes nothing."""
    context = Context(library, platform, [])
    canonical = {
        name: NORMALIZERS[name](fields.fields[name], context) if name in NORMALIZERS else fields.fields[name]
        for name in library.fields
        if name in fields.fields
    }
    tree = fields.with_fields(canonical)
    broken = (finding for rule in RULES_OF_A_LAYER for finding in rule(tree))
    return tree, (*context.findings, *broken)
