"""Fault injection: break workers, connections and Postgres under load, then check the record of the run.

`./kairos chaos --seed 1` runs it. `--mutant` breaks the engine on purpose; the checker must report it.
"""
