"""Tools for platform admins behind `speccompile profiles`: list, show, lint, impact. Imports up to `diff`."""
