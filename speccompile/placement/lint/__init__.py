"""Lint rules for placement, on plain pods and on Seldon Core 2. Imports what `placement` may."""
