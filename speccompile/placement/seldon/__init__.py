"""Seldon Core 2: how its operator and scheduler treat Servers and Models. Imports what `placement` may."""
