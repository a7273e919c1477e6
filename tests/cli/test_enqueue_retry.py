"""`kairos enqueue --retry`: a job that is tried as often as whoever made it says."""

from __future__ import annotations

from pathlib import Path

from tests.cli.terminal import Terminal

from kairos import Backoff, SyncKairos


def test_a_job_is_tried_so_often_and_says_so(kairos: Terminal, shop: Path, client: SyncKairos) -> None:
    job = kairos("enqueue", shop, "greet", "name=x", "--retry", "5", "--json").json["job"]
    assert (job["retry"]["attempts"], client.get(job["id"]).retry) == (5, Backoff(attempts=5, cap=3600))
    assert "5 attempts in all" in kairos("jobs", "show", job["id"]).out


def test_none_at_all_is_refused_in_one_sentence(kairos: Terminal, shop: Path, client: SyncKairos) -> None:
    said = kairos("enqueue", shop, "greet", "name=x", "--retry", "0")
    assert (said.code, said.out) == (64, "")
    assert (
        said.err
        == "kairos: attempts of Backoff is 0; it must be a whole number from 1, the first execution included.\n"
    )
    assert client.jobs() == []
