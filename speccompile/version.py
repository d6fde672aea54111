"""The version, kept here because asking the installation is slower than all of `--help`."""

VERSION = "0.1.0"
