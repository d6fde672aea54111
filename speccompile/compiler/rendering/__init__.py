"""Jinja templates to manifests and text: references, skeletons and their cache. Imports what `compiler` may."""
