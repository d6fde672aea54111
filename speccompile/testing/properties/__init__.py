"""Properties of all runs under an admin's profiles and platform, one module per subject.

A property raises AssertionError for a run that violates it. It compares manifests with the admin's documents, without
the compiler's merge; a run with errors violates no property. Imports from the rest of `speccompile.testing`.
"""
