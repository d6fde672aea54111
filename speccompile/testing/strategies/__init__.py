"""Hypothesis strategies, one module per subject: text, resources, node placement, volumes, fields and whole documents.

What they draw is valid, and nearly every combination compiles: requests are below limits whoever sets them, run and
profile mount below folders of their own, environment variables and secrets have distinct names. Imports from the
compiler's schema and model, and from nothing else in `speccompile.testing`.
"""
