"""Findings, explanations and placements as text, JSON, HTML or SARIF. Imports up to `placement`."""
