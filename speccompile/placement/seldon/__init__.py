"""Seldon Core 2: the behaviour of its operator and scheduler for Servers and Models. Imports what `placement` may."""
