"""Terminal output: styles, columns, progress. Imports nothing else from the package."""
