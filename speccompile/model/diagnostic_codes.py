"""Diagnostic codes with their meaning, severity and examples, from `diagnostic_codes.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

from speccompile.model.diagnostic import Severity
from speccompile.model.light_namedtuple import NamedTuple


class Code(NamedTuple):
    """A kind of finding."""

    name: str
    severity: Severity
    """How severe it is unless the platform, the project file or the command line says otherwise."""
    means: str
    bad: str
    good: str
    refuses: bool = False
    """Whether the admin refuses by it what a user asked for."""


def read_codes(text: str) -> Mapping[str, Code]:
    """The codes of the table by name, in its order."""
    return {
        name: Code(
            name,
            Severity(entry["severity"]),
            entry["means"],
            entry["bad"],
            entry["good"],
            entry.get("refuses", False),
        )
        for name, entry in tomllib.loads(text).items()
    }
