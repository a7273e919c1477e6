"""Steps that run on a Ray or Dask cluster: the worker keeps the lease and commits, the cluster runs the code."""
