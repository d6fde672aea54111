"""Fuzz drivers: mutated inputs of every kind, through the command line, with `make fuzz`.

`targets` has one row per kind of input, `mutate` changes an input, `check` runs it and judges the result, `driver` lets
Atheris choose inputs by coverage, and `python -m fuzz` runs all targets and prints a table.
"""
