"""JSON schemas for editors, optionally narrowed to a profile. Imports up to `compiler`."""
