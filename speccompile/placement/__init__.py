"""Placement of pods on nodes: scheduler filters, capacity and suggestions. Imports up to `verify`."""
