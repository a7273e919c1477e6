"""The simulation of cells, a hundred times smaller: what the page about scale claims of the routing."""

from __future__ import annotations

from bench.cells import Plan, cell_of, moved, simulate

SMALL = {"rate": 1000.0, "capacity": 80.0, "keys": 100_000, "seconds": 10.0}


def test_every_accepted_job_ends_and_no_key_is_out_of_order():
    seen = simulate(Plan(**SMALL, away=None))
    assert seen["accepted"] == seen["done"] > 9_000
    assert seen["out of order"] == 0
    assert seen["use of the busiest cell"] < 1


def test_a_cell_that_is_away_delays_its_own_jobs_and_nobody_elses():
    there, away = simulate(Plan(**SMALL, away=None)), simulate(Plan(**SMALL, away=(3, 3.0, 5.0)))
    assert away["accepted"] == away["done"] == there["done"]
    assert away["out of order"] == 0
    assert 4 < away["longest wait in the cell that was away, s"] < 10
    assert away["wait elsewhere, p99 ms"] < 1000


def test_the_same_seed_gives_the_same_run():
    assert simulate(Plan(**SMALL)) == simulate(Plan(**SMALL))
    assert simulate(Plan(**SMALL)) != simulate(Plan(**SMALL, seed=2))


def test_a_new_cell_takes_its_share_of_the_keys_and_no_other_key_moves():
    assert 0.03 < moved(2_000, 16) < 0.09
    kept = [key for key in range(2_000) if cell_of(key, 17) != 16]
    assert all(cell_of(key, 16) == cell_of(key, 17) for key in kept)
