"""Formats of other tools: Helm, Kustomize, Argo CD, and the starter project. Imports up to `editor_schema`."""
