"""Where pods can run: scheduling filters, capacity and suggestions. Imports up to `verify`."""
