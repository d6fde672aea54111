"""Command-line arguments that name files, and what they leave to an application."""

from __future__ import annotations

import argparse

from speccompile.files.call_inputs import Flags

_FIXED = {
    "platform": ("platform",),
    "profiles": ("profiles", "platform"),
    "project": ("project", "profiles", "platform"),
}
"""What an application cannot name, by the option that the command line sets: a platform could override profiles."""


def flags_of(arguments: argparse.Namespace) -> Flags:
    """The arguments of a call that name files, for any command."""
    return Flags(
        getattr(arguments, "paths", ()),
        arguments.profiles,
        arguments.platform,
        getattr(arguments, "output", None),
        arguments.project,
        templates=arguments.templates,
        functions=getattr(arguments, "functions", ()),
    )


def fixed_inputs(arguments: argparse.Namespace) -> frozenset[str]:
    """The inputs that the command line decides, and an Argo CD application or a KRM function's configuration cannot."""
    return frozenset(name for option, names in _FIXED.items() if vars(arguments)[option] for name in names)
