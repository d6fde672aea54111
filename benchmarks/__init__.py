"""Takes the seed of a workload, gives tables: what speccompile and its peers need to compile the same runs."""
