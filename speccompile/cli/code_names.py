"""Diagnostic codes as options name them."""

from __future__ import annotations

import argparse

from speccompile.schema.bundled import bundled_codes
from speccompile.schema.suggestions import near


def known(code: str) -> str:
    """The code, if it is one; argparse words what is raised."""
    if code in bundled_codes():
        return code
    meant = near(code, bundled_codes())
    raise argparse.ArgumentTypeError(f"there is no code {code!r}" + (f"; did you mean {meant!r}?" if meant else ""))
