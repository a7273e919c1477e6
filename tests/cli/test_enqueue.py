"""`kairos enqueue`: a job from the shell, its arguments checked before anything is stored."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.terminal import Terminal

from kairos import SyncKairos


def enqueued(kairos: Terminal, *arguments: object, stdin: str = "") -> dict[str, Any]:
    job: dict[str, Any] = kairos("enqueue", *arguments, "--json", stdin=stdin).json["job"]
    return job


def test_a_value_is_json_where_it_is_json_and_text_where_it_is_not(kairos: Terminal, shop: Path) -> None:
    assert enqueued(kairos, shop, "greet", "name=Ada Lovelace", "times=3")["input"]["name"] == "Ada Lovelace"
    assert enqueued(kairos, shop, "greet", "name=NaN")["input"]["name"] == "NaN"
    assert enqueued(kairos, shop, "greet", "name=a=b")["input"]["name"] == "a=b"
    assert enqueued(kairos, shop, "greet", 'name="7"')["input"]["name"] == "7"
    assert enqueued(kairos, shop, "nap", "seconds=1.5")["input"] == {"seconds": 1.5}


def test_the_input_may_be_one_json_object_also_from_standard_input(kairos: Terminal, shop: Path) -> None:
    text = '{"name": "Åsa", "times": 2}'
    expected = {"name": "Åsa", "times": 2}
    assert enqueued(kairos, shop, "greet", "--input", text)["input"] == expected
    assert enqueued(kairos, shop, "greet", "--input", "-", stdin=text)["input"] == expected


def test_the_options_say_how_it_is_scheduled(kairos: Terminal, shop: Path) -> None:
    options = ("--queue", "q", "--priority=-3", "--key", "k", "--unique", "u", "--tag", "a", "--tag", "b")
    job = enqueued(kairos, shop, "greet", "name=x", *options)
    shown = {name: job[name] for name in ("queue", "priority", "key", "unique", "tags", "state")}
    assert shown == {
        "queue": "q",
        "priority": -3,
        "key": "k",
        "unique": "u",
        "tags": ["a", "b"],
        "state": "pending",
    }


def test_an_action_keeps_the_options_it_was_registered_with(kairos: Terminal, shop: Path) -> None:
    assert enqueued(kairos, shop, "greet", "name=x")["tags"] == ["small"]


def test_a_job_may_begin_later_and_expire(kairos: Terminal, shop: Path) -> None:
    job = enqueued(kairos, shop, "greet", "name=x", "--delay", "90", "--ttl", "5m")
    created, due, expires = (
        datetime.fromisoformat(job[name]) for name in ("createdAt", "runAt", "expiresAt")
    )
    assert (job["state"], due - created, expires - due) == (
        "scheduled",
        timedelta(seconds=90),
        timedelta(minutes=5),
    )
    assert enqueued(kairos, shop, "greet", "name=x", "--run-at", "2090-01-31T09:00+02:00")["runAt"] == (
        "2090-01-31T07:00:00Z"
    )


def test_people_read_where_the_job_is(kairos: Terminal, shop: Path) -> None:
    assert kairos("enqueue", shop, "greet", "name=x").out == "Job 1 (greet) is ○ pending in queue default.\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing",), "No action is called 'nothing'. Known: fail, greet, hold, nap, order, stick."),
        (("greet",), "greet: argument 'name' is missing."),
        (("greet", "name=x", "self=1"), "greet takes no argument 'self'. Known: name, times, token."),
        (("greet", "name=x", "times=many"), "greet: argument 'times': Input should be a valid integer"),
        (("greet", "name=x", "times=1e400"), "times is inf, which JSON has no number for."),
        (("greet", "name"), "'name' is not key=value: write the name of an argument, = and its value."),
        (("greet", "=x"), "'=x' is not key=value: write"),
        (("greet", "name=x", "name=y"), "'name' is given twice."),
        (("greet", "name=" + "[" * 5000), "name is "),
        (("greet", "--input", "{"), "input is not valid JSON"),
        (("greet", "--input", "[1]"), "input is [1]; it must be a JSON object."),
        (("greet", "--input", '{"name": 1, "name": 2}'), "a key occurs twice"),
        (("greet", "name=x", "--input", "{}"), "Give key=value pairs or --input, not both."),
        (("greet", "name=x", "--ttl=-5"), "ttl is -5.0, but a length of time cannot be negative."),
        (("greet", "name=x", "--delay", "soon"), "delay is 'soon'; write"),
        (("greet", "name=x", "--delay", "nan"), "delay is nan; write"),
        (("greet", "name=x", "--run-at", "tomorrow"), "--run-at is 'tomorrow'; write an instant such as"),
        (("greet", "name=x", "--run-at", "2090-01-01T09:00"), "which names no time zone: add Z or +02:00."),
        (("greet", "name=x", "--run-at", "2090-01-01", "--delay", "1s"), "which names no time zone"),
        (("greet", "name=x", "--priority", "99999"), "priority is 99999; it must be a whole number from"),
        (("greet", "name=x", "--key", "k" * 256), "key has 256 characters; the limit is 255."),
        (("greet", "name=x", "--queue", ""), "queue is ''; it must be text"),
    ],
)
def test_a_bad_call_is_refused_in_one_sentence_and_nothing_is_stored(
    kairos: Terminal, shop: Path, client: SyncKairos, arguments: tuple[str, ...], sentence: str
) -> None:
    said = kairos("enqueue", shop, *arguments)
    assert (said.code, said.out) == (64, "")
    assert said.err.startswith("kairos: ") and sentence in said.err and said.err.count("\n") == 1
    assert client.jobs() == []


def test_a_taken_unique_key_is_a_conflict(kairos: Terminal, shop: Path) -> None:
    kairos("enqueue", shop, "greet", "name=x", "--unique", "u")
    said = kairos("enqueue", shop, "greet", "name=y", "--unique", "u")
    assert said.code == 65
    assert said.err == "kairos: Job 1 holds the unique key 'u' and is pending.\n"


def test_the_app_may_be_left_out_where_the_environment_names_it(
    kairos: Terminal, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAIROS_APP", str(shop))
    assert enqueued(kairos, "greet", "name=x")["action"] == "greet"
    assert enqueued(kairos, shop, "greet", "name=x")["action"] == "greet"


def test_a_forgotten_app_is_named(kairos: Terminal) -> None:
    for words in (["greet", "name=x"], ["greet"], ["name=x"]):
        told = kairos("enqueue", *words)
        assert told.code == 64
        assert told.err == (
            "kairos: The command needs an app and an action: write `kairos enqueue app.py greet name=world`, or set "
            "KAIROS_APP to the app.\n"
        )
