"""What a pick decides without a database: how many jobs, which candidates, which actions."""

from __future__ import annotations

from typing import Any

from kairos.worker.keyed_picks import first_of_each_key
from kairos.worker.known_actions import KnownActions
from kairos.worker.pace import Pace
from kairos.worker.pick_room import MAX_BATCH, room_for_claims


def pace(rate: float) -> Pace:
    measured = Pace()
    measured.rate = rate
    return measured


def test_a_worker_claims_for_its_free_lanes_and_what_they_finish_in_40_ms() -> None:
    assert room_for_claims(10, pace(0), load=3, backlog=0, leases_left=1000) == 7
    assert room_for_claims(10, pace(1000), load=3, backlog=0, leases_left=1000) == 47
    assert room_for_claims(10, pace(1e6), load=0, backlog=0, leases_left=1000) == MAX_BATCH


def test_uncommitted_outcomes_and_leases_leave_less_room() -> None:
    assert room_for_claims(10, pace(0), load=0, backlog=1005, leases_left=1000) == 5
    assert room_for_claims(10, pace(0), load=0, backlog=1010, leases_left=1000) == 0
    assert room_for_claims(10, pace(0), load=0, backlog=0, leases_left=2) == 2


def candidate(job: int, key: str) -> dict[str, Any]:
    return {"id": job, "partition_key": key}


def test_each_key_gets_its_admitted_number_of_candidates_in_their_order() -> None:
    line = [candidate(1, "a"), candidate(2, "b"), candidate(3, "a"), candidate(4, "a"), candidate(5, "c")]
    first = first_of_each_key(line, {"a": 2, "b": 0})
    assert [row["id"] for row in first] == [1, 3]


def unclaimed(job: int, action: str, lease: int | None = None) -> dict[str, Any]:
    return {"id": job, "fsm": action, "fsm_version": 1, "lease": lease}


def test_candidates_are_the_unclaimed_rows_of_known_actions() -> None:
    met: list[tuple[str, int]] = []
    known = KnownActions([("send", 1)], lambda *action: met.append(action), lambda queue: None)
    rows = [unclaimed(1, "send", lease=7), unclaimed(2, "send"), unclaimed(3, "bill")]
    assert [row["id"] for row in known.candidates("default", rows)] == [2]
    assert met == [("bill", 1)]


def test_a_queue_is_shared_for_five_seconds_after_an_unknown_action() -> None:
    now = 100.0
    known = KnownActions([("send", 1)], lambda *action: None, lambda queue: None, clock=lambda: now)
    known.candidates("default", [unclaimed(1, "send")])
    assert not known.is_shared("default")
    known.candidates("default", [unclaimed(1, "bill")])
    assert known.is_shared("default")
    assert not known.is_shared("other")
    now = 105.0
    assert not known.is_shared("default")


def test_a_queue_with_avoided_arguments_is_shared() -> None:
    known = KnownActions(None, lambda *action: None, lambda queue: "{}" if queue == "mail" else None)
    assert known.is_shared("mail")
    assert not known.is_shared("default")
