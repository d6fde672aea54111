"""Entry point of `speccompile` and `python -m speccompile`."""

import gc
import os
import sys
from typing import NoReturn

_INTERRUPTED = 130
_COLLECTED_AFTER = 100_000
"""New objects after which garbage is collected: more than a short call creates, which so needs no collection."""


def run_command_line() -> NoReturn:
    """Run the command line, and end the process; Ctrl-C ends it quietly, even while it is imported."""
    gc.set_threshold(_COLLECTED_AFTER)
    try:
        from speccompile.cli.main import main

        code = main()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except SystemExit as stop:
        code = int(stop.code or 0)
    # Everything is written and closed. Python would still destroy each object, which takes a thirtieth of a short call.
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    run_command_line()
