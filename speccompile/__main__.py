"""Entry point of `speccompile` and `python -m speccompile`."""

_INTERRUPTED = 130


def run_command_line() -> int:
    """Run the command line, and return its exit code; Ctrl-C ends it quietly, even while it is imported."""
    try:
        from speccompile.cli.main import main

        return main()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(run_command_line())
