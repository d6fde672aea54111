"""Formats of other tools: Helm, Kustomize, Argo CD, DigitalHub's SDK, and the starter project.

Imports up to `editor_schema`.
"""
