"""Laws: properties that every run keeps under an admin's profiles and platform, one module per subject.

A law raises AssertionError where a run breaks it. It reads manifests and what the admin's documents say, never how
layers were merged; a run that is refused breaks no law. Imports from the rest of `speccompile.testing`.
"""
