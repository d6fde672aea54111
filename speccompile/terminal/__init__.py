"""How text looks on a terminal: styles, columns, progress. Imports nothing else of the package."""
