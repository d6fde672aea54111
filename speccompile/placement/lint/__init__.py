"""Lint rules for the placement of pods and of Seldon Core 2 models. Imports what `placement` may."""
