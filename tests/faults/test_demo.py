"""The demo whose uptime is published, for some seconds: services restart one by one, and every caller is answered."""

from __future__ import annotations

import asyncio

import pytest
from bench.demo import Tally, run


@pytest.mark.timeout(300)
def test_every_request_is_answered_while_workers_and_services_restart(database):
    seen = asyncio.run(run(database, seconds=4.0, rate=10.0))
    assert (seen["POST /api/jobs"]["asked"], seen["POST /api/jobs"]["failed"]) == (40, 0)
    assert (seen["probes"]["asked"], seen["probes"]["failed"]) == (40, 0)
    assert seen["jobs"] == {"accepted": 40, "by status": {"done": 40}}


def test_the_uptime_is_the_share_of_the_requests_that_were_answered():
    tally = Tally()
    for good in (True, True, True, False):
        tally.note(began=0.0, good=good)
    assert tally.figures()["answered %"] == 75.0
