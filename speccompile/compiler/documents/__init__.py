"""Runs, profiles, platforms and targets, read from the documents people write. Imports what `compiler` may."""
