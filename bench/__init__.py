"""How fast Kairos is, as ratios: `./kairos bench`, or `python -m bench` from the clone's root.

    python -m bench                          everything, about ten minutes on two quiet cores
    python -m bench --quick                  a smaller run, about two minutes
    python -m bench --only drain,enqueue     some of it
    python -m bench --peers pgqueuer         another project too, in a throwaway environment
    python -m bench --json figures.json      the same figures for programs

It starts a Postgres of its own in a temporary folder, with fsync and synchronous_commit on, and real worker
processes. Nothing here is a test: no figure makes anything fail. docs/operate/benchmark.md says how to read it.

    plan.py       what is measured, and in which turns        size.py       how large a run is
    drains.py     jobs drained by warm workers                 measures.py   enqueue and pick-up
    backlog.py    all of it beside a backlog                   cost.py       memory and statements
    intent.py     phrases, and a minute full of schedules      limit.py      the same statements by pgbench
    floor.py      the least a program must do                  peer.py       other projects (programs in peers/)
"""
