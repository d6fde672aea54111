"""Takes objects and the nodes of a cluster, gives where pods could run, and what keeps them off everywhere else."""
