"""`kairos when` and `kairos schedules`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.terminal import Terminal


@pytest.fixture
def nightly(kairos: Terminal, shop: Path) -> Terminal:
    """A terminal on a database with one schedule."""
    kairos("schedules", "add", shop, "nightly", "every day at 3am in Berlin", "greet", "name=you")
    return kairos


def test_when_says_the_sentence_and_the_next_instants(kairos: Terminal) -> None:
    said = kairos("when", "every weekday at 9am in London", "--limit", "3").out
    assert "every weekday at 09:00 (Europe/London)" in said
    assert said.count("09:00:00Z") + said.count("08:00:00Z") >= 3
    assert len(kairos("when", "every weekday at 9am in London", "--json").json["nextTicks"]) == 5


def test_an_intent_needs_no_quotes(kairos: Terminal) -> None:
    bare = kairos("when", "every", "monday", "at", "9am", "--limit", "2", "--json").json
    assert bare["sentence"] == "every monday at 09:00 (UTC)"
    assert (bare["intent"], len(bare["nextTicks"])) == ("every monday at 9am", 2)
    refused = kairos("when", "every", "monday")
    assert refused.code == 64
    assert "try: " in refused.err


def test_a_refused_intent_shows_where_and_what_instead(kairos: Terminal) -> None:
    answer = kairos("when", "next friday")
    assert answer.code == 64
    assert "^^^^^^^^^^^" in answer.err
    assert "try: " in answer.err


def test_a_schedule_is_added_listed_and_shown(nightly: Terminal) -> None:
    assert "every day at 03:00 (Europe/Berlin)" in nightly("schedules", "ls").out
    shown = nightly("schedules", "show", "nightly", "--json").json
    assert shown["schedule"]["input"]["name"] == "you"
    assert (len(shown["schedule"]["nextTicks"]), shown["ticks"]) == (5, [])


def test_a_schedule_is_paused_with_a_reason_and_resumed(nightly: Terminal) -> None:
    assert "moving house" in nightly("schedules", "pause", "nightly", "--reason", "moving house").out
    assert nightly("schedules", "ls", "--json").json["schedules"][0]["paused"] is True
    listed = nightly("schedules", "ls").out
    assert "moving house" in listed
    assert " in " not in listed, "it has no next tick"
    assert "fires" in nightly("schedules", "resume", "nightly").out


def test_a_trigger_and_a_backfill_make_jobs(nightly: Terminal) -> None:
    assert "enqueued" in nightly("schedules", "trigger", "nightly").out
    assert nightly("schedules", "trigger", "nightly", "--json").json["job"]["id"]
    window = ("--start", "2026-01-01T00:00Z", "--end", "2026-01-04T00:00Z")
    assert "3 jobs" in nightly("schedules", "backfill", "nightly", *window).out
    assert nightly("schedules", "backfill", "nightly", *window, "--json").json == {"jobs": []}
    assert "job" in nightly("schedules", "show", "nightly").out
    assert len(nightly("jobs", "ls", "--json").json["jobs"]) == 5


def test_a_removed_schedule_is_gone(nightly: Terminal) -> None:
    assert "gone" in nightly("schedules", "rm", "nightly").out
    assert "No schedules" in nightly("schedules", "ls").out
    assert nightly("schedules", "rm", "nightly", "--json").code == 66


def test_a_bad_policy_is_refused(kairos: Terminal, shop: Path) -> None:
    answer = kairos(
        "schedules", "add", shop, "nightly", "every day at 3am", "greet", "name=you", "--overlap", "maybe"
    )
    assert (answer.code, "overlap is 'maybe'" in answer.err) == (64, True)


def test_a_job_may_be_enqueued_for_a_time_in_words(kairos: Terminal, shop: Path) -> None:
    said = kairos(
        "enqueue", shop, "greet", "name=you", "--when", "2030-01-31 at 9am", "--tz", "Europe/Berlin", "--json"
    )
    assert said.json["job"]["runAt"] == "2030-01-31T08:00:00Z"
    assert kairos("enqueue", shop, "greet", "name=you", "--when", "every day at 9am").code == 64


def test_a_schedule_has_bounds_and_its_jobs_a_queue_a_key_and_a_ttl(kairos: Terminal, shop: Path) -> None:
    bounds = ("--start", "2030-01-01T00:00Z", "--end", "2030-01-03T00:00Z", "--count", "5")
    jobs = ("--queue", "night", "--key", "k", "--ttl", "90")
    words = ("every day at 3am", "greet", "name=you", "--json")
    added = kairos("schedules", "add", shop, "nightly", *words, *bounds, *jobs).json["schedule"]
    assert (added["start"], added["end"]) == ("2030-01-01T00:00:00Z", "2030-01-03T00:00:00Z")
    assert (added["count"], len(added["nextTicks"])) == (5, 2)
    made = kairos("schedules", "trigger", "nightly", "--json").json["job"]["id"]
    job = kairos("jobs", "show", str(made), "--json").json["job"]
    assert (job["queue"], job["key"], job["expiresAt"] is not None) == ("night", "k", True)
    assert kairos("schedules", "add", shop, "nightly", *words, "--start", "2030-01-01").code == 64


def test_what_a_machine_hides_is_hidden_in_its_schedules_too(kairos: Terminal, shop: Path) -> None:
    kairos("schedules", "add", shop, "secret", "every day at 3am", "greet", "name=you", "token=canary")
    said = kairos("schedules", "add", shop, "secret", "every day at 3am", "greet", "name=you", "token=canary")
    assert "canary" not in said.out
    assert "[redacted]" in said.out


def test_when_knows_the_calendars_that_are_configured(kairos: Terminal, home: Path) -> None:
    assert kairos("when", "every day at 9am except shop holidays").code == 64
    (home / "kairos.toml").write_text('[holidays]\nshop = [2030-12-25, "2030-12-26"]\n')
    assert "except shop holidays" in kairos("when", "every day at 9am except shop holidays").out


def test_the_app_of_a_schedule_may_be_left_out_where_the_environment_names_it(
    kairos: Terminal, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = "RRULE:FREQ=DAILY;BYHOUR=9"
    refused = kairos("schedules", "add", "nightly", rule, "greet", "name=x")
    assert refused.code == 64
    assert "The command needs an app and a schedule's name, a time and an action: write" in refused.err
    monkeypatch.setenv("KAIROS_APP", str(shop))
    for words in (["nightly", rule, "greet", "name=x"], [shop, "daily", rule, "greet", "name=x"]):
        assert kairos("schedules", "add", *words).code == 0
    assert [each["name"] for each in kairos("schedules", "ls", "--json").json["schedules"]] == [
        "daily",
        "nightly",
    ]
