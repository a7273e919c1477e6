"""What the pick, the commit, lists and statistics read does not grow with the table."""

from __future__ import annotations

from bench.buffers_by_size import buffers, fill, measure
from bench.database import Database


def test_no_statement_reads_more_in_a_table_that_is_fifty_times_as_large(database):
    bench = Database(database)
    fill(bench, 1_000)
    small = measure(database)
    fill(bench, 50_000)
    large = measure(database)
    bench.close()
    assert small.keys() == large.keys() and len(small) == 6
    # Its indexes have a level or two more, which every probe descends: a scan would read hundreds of times as much.
    grown = {name: (small[name], large[name]) for name in small if large[name] > 2 * small[name] + 20}
    assert grown == {}


def test_buffers_of_a_change_that_nothing_reads_are_counted():
    def node(hit: int, **more: object) -> dict[str, object]:
        return {"Shared Hit Blocks": hit, "Shared Read Blocks": 1, **more}

    scan = node(0, **{"CTE Name": "settled"})
    plan = node(
        10,
        Plans=[node(7, **{"Subplan Name": "CTE settled"}), node(5, **{"Subplan Name": "CTE recorded"}), scan],
    )
    assert buffers(plan) == 11 + 6
