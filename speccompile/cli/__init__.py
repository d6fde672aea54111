"""The command line: arguments and streams to an exit code. Imports everything but `testing`."""
