"""Command-line arguments that name files."""

from __future__ import annotations

import argparse

from speccompile.files.call_inputs import Flags


def flags_of(arguments: argparse.Namespace) -> Flags:
    """The arguments of a call that name files, for any command."""
    return Flags(
        getattr(arguments, "paths", ()),
        arguments.profiles,
        arguments.platform,
        getattr(arguments, "output", None),
        arguments.project,
        templates=arguments.templates,
    )
