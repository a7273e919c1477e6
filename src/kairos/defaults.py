"""The defaults of a worker and its connections: one declaration for Python, the command line and the docs.

Lengths of time are text, as on the command line; `kairos.durations` reads them.
"""

CONCURRENCY = 20  # steps at once in one process
LEASE = "10s"  # how long a job stays reserved for a worker that is lost; also bounds the database timeouts
POLL = "1s"  # how soon a job is found whose notification was lost
GRACE = "30s"  # how long running steps may take to finish at shutdown
RETENTION = "7d"  # how long ended jobs are kept
POOL_SIZE = 10  # connections of one process
