"""How fast Kairos is, as ratios: `./kairos bench`, or `python -m bench` from the clone's root.

    python -m bench                          everything, about ten minutes on two cores
    python -m bench --quick                  a smaller run, one to two minutes
    python -m bench --only drain,enqueue     some of it
    python -m bench --peers pgqueuer         another project too, in a throwaway environment
    python -m bench --json figures.json      the same figures for programs

It starts a Postgres of its own in a temporary folder, with fsync and synchronous_commit on, and real worker
processes. Nothing here is a test: no figure makes anything fail.

How to read the table. Absolute figures belong to one machine in one hour; what travels are the ratios, so each
row shows Kairos beside the **floor** measured in turns with it (Kairos, floor, Kairos, floor; the median of the
rounds), and beside the **limit** of the database itself.

- floor: the least a Python program must do on the same schema: one connection, claim a hundred jobs, finish
  them with one history row each; no leases, retries, timeouts or fences. For enqueue, Kairos's own insert
  statement with parameters made beforehand.
- limit: the floor's statements sent by `pgbench`, so without Python. "own statements" are Kairos's pick and
  settle sent the same way: what is left between them and the floor's is the price of the guarantees in Postgres.
- ratio: Kairos ÷ floor for rates (higher is better) and for latencies (lower is better).
- with backlog ÷ without: the same drain in a database that also holds 500,000 jobs due in 30 days (at the same
  or at a more urgent priority), 200,000 finished ones, or 100,000 that wait behind one key. 1.00 means that a
  pick does not notice them.
- CPU: user and system time of the worker processes with their keepers, and of all Postgres processes, by job.
- statements: what the server's own log counts, begin and commit included, in a run that is not timed.
- pick-up: from the call of `enqueue` to the first line of the step in the worker; both read one clock.
"""
