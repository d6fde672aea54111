"""Benchmark of speccompile and other tools that compile the same runs."""
