"""One module per command, imported only when that command is called. Imports what `cli` may."""
