"""Hypothesis strategies, one module per subject: text, resources, node placement, volumes, fields and whole documents.

They generate valid values, and nearly every combination compiles: requests are below limits, run and profile mount
below different folders, environment variables and secrets have distinct names. Imports from the compiler's schema and
model, and from `speccompile.testing.plain_data`.
"""
