"""Checks behind the `format` keyword of the schemas. Imports `model`."""
