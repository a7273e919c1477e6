"""`kairos alarms`: what is wrong, and saying that it was seen."""

from __future__ import annotations

from tests.cli.terminal import Terminal

from kairos import SyncKairos


def test_alarms_are_listed_shown_and_acknowledged(kairos: Terminal, client: SyncKairos) -> None:
    assert kairos("alarms", "ls").out == "Quiet.\n"
    client.store.connect().execute(
        "insert into kairos.alarms (kind, subject, severity, cause, remedy, count, first_at, last_at)"
        " values ('worker_lost', 'w1', 'warning', 'Worker w1 was lost', 'See why', 1, now(), now())"
    )
    (alarm,) = kairos("alarms", "ls", "--json").json["alarms"]
    assert (alarm["kind"], alarm["acknowledgedAt"]) == ("worker_lost", None)
    assert "Worker w1 was lost" in kairos("alarms", "ls").out
    assert "See why" in kairos("alarms", "show", alarm["id"]).out
    assert (
        kairos("alarms", "acknowledge", alarm["id"]).out
        == f"Alarm {alarm['id']} (worker_lost) is acknowledged by cli.\n"
    )
    assert "acknowledged by cli" in kairos("alarms", "ls").out


def test_an_alarm_that_does_not_exist_is_named(kairos: Terminal) -> None:
    for verb in ("show", "acknowledge"):
        said = kairos("alarms", verb, 7)
        assert (said.code, said.err) == (66, "kairos: There is no alarm 7.\n")
