"""Takes nothing, gives the version: here, because asking the installation for it is slower than all of `--help`."""

VERSION = "0.1.0"
