"""Entry point of `speccompile` and `python -m speccompile`."""

import gc

_INTERRUPTED = 130
_COLLECTED_AFTER = 100_000
"""New objects after which garbage is collected: more than a short call creates, which so needs no collection."""


def run_command_line() -> int:
    """Run the command line, and return its exit code; Ctrl-C ends it quietly, even while it is imported."""
    gc.set_threshold(_COLLECTED_AFTER)
    try:
        from speccompile.cli.main import main

        return main()
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        # Python collects garbage once more when it exits, and would search all objects of the call.
        gc.freeze()


if __name__ == "__main__":
    raise SystemExit(run_command_line())
