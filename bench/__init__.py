"""How fast Kairos is, as ratios: `./kairos bench`, or `python -m bench` from the clone's root.

    python -m bench                          everything, about ten minutes on two quiet cores
    python -m bench --quick                  a smaller run, about two minutes
    python -m bench --only drain,enqueue     some of it
    python -m bench --peers pgqueuer         another project too, in a throwaway environment
    python -m bench --json figures.json      the same figures for programs

It starts a Postgres of its own in a temporary folder, with fsync and synchronous_commit on, and real worker
processes. Nothing here is a test: no figure makes anything fail. docs/operate/benchmark.md says how to read it.

    suite.py               what is measured, and in which order
    run_size.py            how large a run is
    drains.py              jobs that running workers drain from a queue
    enqueue_and_pickup.py  how fast jobs are enqueued, and how soon they are picked up
    backlog.py             the same measurements with a backlog beside them
    worker_cost.py         memory and statements of a worker
    schedule_texts.py      reading phrases, and a minute in which many schedules fire
    database_limit.py      the same statements sent by pgbench
    floor.py               the least work that a queue with history must do
    buffers_by_size.py     what statements read as the table grows
    peer.py                other projects (programs in peers/)
"""
