"""SQL functions that statements call for each row are inlined: Postgres parses no body while a statement runs."""

from __future__ import annotations

import psycopg
import pytest


@pytest.mark.parametrize(
    "call",
    [
        "kairos.now()",
        "kairos.job_state(status, eligible_at, kairos.now())",
        "kairos.bucket(kairos.now() - picked_at)",
        "kairos.until(eligible_at)",
        "kairos.key_lock(partition_key)",
        "kairos.rate_cost(ttl, attempt)",
    ],
)
def test_a_plan_holds_the_body_of_the_function(connection: psycopg.Connection, call: str) -> None:
    rows = connection.execute(f"explain (verbose, costs off) select {call} from kairos.gen_durable")
    plan = "\n".join(row[0] for row in rows)
    assert "Output:" in plan
    assert call.partition("(")[0] not in plan
