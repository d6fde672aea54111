"""Cache, worker processes and Dask around the compiler. Imports up to `files`."""
