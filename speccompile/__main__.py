"""Takes the command line, gives the exit code."""

from speccompile.cli import main

raise SystemExit(main())
