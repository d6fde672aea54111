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
    """The severity unless the platform file, the project file or the command line sets another."""
    means: str
    """What is wrong, why it matters and how to fix it; the first sentence is a summary."""
    bad: str
    good: str
    refuses: bool = False
    """Whether the code reports a value of a run that the admin does not allow."""

    @property
    def summary(self) -> str:
        first, stop, _ = self.means.partition(". ")
        return first + stop.strip()


def read_codes(text: str) -> Mapping[str, Code]:
    """The codes by name, in the order of the table."""
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
