"""Steps that run on a cluster of others (Ray, Dask): the worker keeps the lease and commits, the body runs there."""
