"""Manifests compared: what changed, in words, and which runs a change affects. Imports up to `compiler`."""
