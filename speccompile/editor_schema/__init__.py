"""JSON schemas for editors, narrowed to what a profile leaves open. Imports up to `compiler`."""
