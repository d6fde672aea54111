"""Run the command line with `python -m speccompile`."""

from speccompile.cli.main import main

raise SystemExit(main())
