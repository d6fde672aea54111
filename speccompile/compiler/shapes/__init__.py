"""Runs of one shape, compiled once: text split at its values, pages with holes, and their store.

Imports what `compiler` may.
"""
