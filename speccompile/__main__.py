"""Takes the command line, gives the exit code."""

from speccompile.cli.main import main

raise SystemExit(main())
