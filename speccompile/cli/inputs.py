"""The arguments of a call that name files, as flags."""

from __future__ import annotations

import argparse

from speccompile.files.call_inputs import Flags


def flags_of(arguments: argparse.Namespace) -> Flags:
    """The flags of a call, whatever it is about."""
    return Flags(
        getattr(arguments, "paths", ()),
        arguments.profiles,
        arguments.platform,
        getattr(arguments, "output", None),
        arguments.project,
        templates=arguments.templates,
    )
