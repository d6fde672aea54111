"""Values that travel through the pipeline, and pure helpers for them. Imports `terminal`."""
