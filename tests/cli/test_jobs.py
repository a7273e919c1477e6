"""`kairos jobs`: what people ask of jobs that exist, without the app that made them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.terminal import Terminal, ran

from kairos import Backoff, Context, Done, Kairos, Next, Stop, SyncKairos, step
from kairos.testing import drain

if TYPE_CHECKING:
    from kairos import Job


@pytest.fixture
def app(database: str) -> Kairos:
    app = Kairos(database)

    @app.job(tags=["daily"], queue="mail")
    async def greet(name: str) -> str:
        return f"Hello, {name}!"

    @app.job(retry=Backoff(attempts=2, base=0))
    async def fail() -> None:
        raise ValueError("out of paper")

    @app.machine("walk", run_ahead=False)
    class Walk:
        @step(initial=True, to=["second"])
        async def first(self, ctx: Context[Any]) -> Next:
            return Next("second", {**ctx.state, "seen": True})

        @step
        async def second(self, ctx: Context[Any]) -> Done | Stop:
            return Stop("at the second step")

    return app


async def waiting(app: Kairos, **options: Any) -> Job:
    """A job that nobody ran yet."""
    async with app:
        job: Job = await app.action("greet").options(**options).enqueue(name="you")
        return job


async def test_ls_shows_the_newest_job_first_with_its_state_as_a_word(kairos: Terminal, app: Kairos) -> None:
    first, second = await ran(app, "greet", name="you"), await waiting(app, delay="1h", key="user:7")
    lines = [line.split() for line in kairos("jobs", "ls").out.splitlines() if line[:3].strip().isdigit()]
    assert [line[0] for line in lines] == [str(second.id), str(first.id)]
    assert {"scheduled", "user:7"} <= set(lines[0])
    assert "success" in lines[1]


async def test_ls_shows_only_what_the_filters_say(kairos: Terminal, app: Kairos) -> None:
    await ran(app, "greet", name="you")
    await ran(app, "fail")
    await ran(app, "walk")

    def listed(*filters: object) -> set[str]:
        return {job["action"] for job in kairos("jobs", "ls", *filters, "--json").json["jobs"]}

    assert listed() == {"greet", "fail", "walk"}
    assert listed("--state", "failed") == {"fail", "walk"}
    assert listed("--action", "greet") == listed("--queue", "mail") == listed("--tag", "daily") == {"greet"}
    assert listed("--key", "nobody") == listed("--schedule", "nightly") == set()
    assert listed("--text", "PAPER") == {"fail"}
    assert listed("--from", "2001-01-01T00:00Z", "--to", "2100-01-01T00:00Z") == {"greet", "fail", "walk"}
    assert listed("--from", "2100-01-01T00:00Z") == set()
    assert listed("--before", 2) == {"greet"}
    assert listed("--limit", 1) == {"walk"}


def test_ls_of_nothing_says_so(kairos: Terminal) -> None:
    assert kairos("jobs", "ls").out == "No jobs.\n"
    assert kairos("jobs", "ls", "--json").json == {"jobs": []}


async def test_show_tells_a_failure_and_every_change_that_led_to_it(kairos: Terminal, app: Kairos) -> None:
    job = await ran(app, "fail")
    said = kairos("jobs", "show", job.id)
    assert said.code == 0
    assert "ValueError: out of paper" in said.out and "you can" in said.out
    document = kairos("jobs", "show", job.id, "--json").json
    assert document["job"]["error"]["message"] == "ValueError: out of paper"
    assert document["job"]["can"] == ["retry", "delete"]
    assert [row["verb"] for row in document["history"]] == ["fail", "retry", "stop"]
    assert document["signals"] == []


async def test_show_tells_the_signals_that_were_sent(
    kairos: Terminal, app: Kairos, client: SyncKairos
) -> None:
    job = await waiting(app)
    client.signal(job.id, "paid", {"sum": 7}, dedup_key="once")
    assert "paid" in (said := kairos("jobs", "show", job.id).out) and "not yet" in said
    (signal,) = kairos("jobs", "show", job.id, "--json").json["signals"]
    assert (signal["name"], signal["payload"], signal["dedupKey"]) == ("paid", {"sum": 7}, "once")


async def test_show_hides_what_the_machine_redacts_where_the_app_is_known(
    kairos: Terminal, shop: Path
) -> None:
    job = kairos("enqueue", shop, "greet", "name=x", "token=secret", "--json").json["job"]
    assert job["input"] == {"name": "x", "token": "[redacted]"}
    assert "secret" not in kairos("jobs", "show", job["id"], "--app", shop).out


async def test_show_hides_redacted_fields_of_the_states_that_were_kept(kairos: Terminal, app: Kairos) -> None:
    @app.machine("kept", keep_states=True, redact=["card"])
    class Kept:
        @step(initial=True, to=["pay"])
        async def start(self, ctx: Context[dict[str, str]]) -> Any:
            return Next("pay", {"card": "4242", "sum": "7"})

        @step
        async def pay(self, ctx: Context[dict[str, str]]) -> Any:
            return Done()

    job = await app.action("kept").enqueue(card="4242")
    await drain(app)
    shown = kairos("jobs", "show", job.id, "--json")
    assert shown.json["history"][0]["state"] == {"card": "[redacted]", "sum": "7"}
    assert "4242" not in shown.out


async def test_cancel_keeps_the_reason(kairos: Terminal, app: Kairos) -> None:
    job = await waiting(app)
    assert "cancelled" in kairos("jobs", "cancel", job.id, "--reason", "changed my mind").out
    shown = kairos("jobs", "show", job.id, "--json").json
    assert shown["job"]["cancelReason"] == shown["history"][-1]["reason"] == "changed my mind"


async def test_cancel_of_a_running_job_says_that_it_was_asked_to_stop(
    kairos: Terminal, app: Kairos, client: SyncKairos
) -> None:
    job = await waiting(app)
    with client.store.transaction() as connection:
        connection.execute(
            b"update kairos.gen_durable set status = 'executing', lease = 1, locked_by = 'w', started_at = now(),"
            b" lease_expires_at = now() + interval '1 hour'"
        )
    assert (
        kairos("jobs", "cancel", job.id).out == f"Job {job.id} (greet) is ▶ running, and is asked to stop.\n"
    )


async def test_run_now_brings_a_job_forward(kairos: Terminal, app: Kairos) -> None:
    job = await waiting(app, delay="1h")
    assert kairos("jobs", "run-now", job.id, "--json").json["job"]["state"] == "pending"


async def test_edit_changes_what_it_is_given(kairos: Terminal, app: Kairos) -> None:
    job = await waiting(app, delay="1h", tags=["old"])
    options = ("--priority", -5, "--queue", "slow", "--tag", "a", "--tag", "b", "--ttl", "10m")
    changed = kairos("jobs", "edit", job.id, *options, "--run-at", "2090-01-01T00:00Z", "--json").json["job"]
    assert (changed["priority"], changed["queue"], changed["tags"]) == (-5, "slow", ["a", "b"])
    assert (changed["runAt"], changed["expiresAt"]) == ("2090-01-01T00:00:00Z", "2090-01-01T00:10:00Z")
    assert kairos("jobs", "edit", job.id).code == 64  # nothing to change


async def test_delete_forgets_a_job_that_ended(kairos: Terminal, app: Kairos) -> None:
    job = await waiting(app)
    refused = kairos("jobs", "delete", job.id)
    assert (refused.code, refused.err) == (
        65,
        f"kairos: Job {job.id} is pending and cannot be deleted; allowed now: edit, snooze, signal, cancel.\n",
    )
    kairos("jobs", "cancel", job.id)
    assert kairos("jobs", "delete", job.id).out == f"Job {job.id} is deleted.\n"
    assert kairos("jobs", "show", job.id).code == 66


@pytest.mark.parametrize(("said", "state"), [(b"n\n", "pending"), (b"y\n", "cancelled")])
async def test_a_person_at_a_terminal_confirms_what_is_dangerous(
    app: Kairos, database: str, said: bytes, state: str
) -> None:
    job = await waiting(app)
    screen, end = pty.openpty()
    os.write(screen, said)
    command = [sys.executable, "-m", "kairos.cli", "jobs", "cancel", str(job.id), "--database-url", database]
    ended = subprocess.run(command, stdin=end, capture_output=True, text=True, check=False, timeout=60)
    os.close(end)
    os.close(screen)
    assert f"Cancel job {job.id}? A job that waits ends at once and never runs" in ended.stderr
    async with app:
        assert (await app.get(job.id)).state == state


async def test_retry_needs_no_app_and_begins_at_the_first_step(kairos: Terminal, app: Kairos) -> None:
    old = await ran(app, "walk", start=1)
    assert (old.state, old.step) == ("failed", "second")
    new = kairos("jobs", "retry", old.id, "--json").json["job"]
    assert (new["step"], new["retryOf"], new["input"]) == ("first", old.id, {"start": 1})


async def test_retry_of_a_job_that_never_ran_begins_at_its_step(kairos: Terminal, app: Kairos) -> None:
    job = await waiting(app, ttl="1h")
    kairos("jobs", "cancel", job.id)
    new = kairos("jobs", "retry", job.id, "--json").json["job"]
    assert (new["step"], new["state"]) == ("run", "pending")
    assert new["expiresAt"] is not None  # it may wait as long as the old one could


async def test_retry_takes_the_first_step_of_the_app_it_is_given(
    kairos: Terminal, shop: Path, client: SyncKairos
) -> None:
    job = kairos("enqueue", shop, "order", "order_id=1", "--json").json["job"]
    with client.store.transaction() as connection:
        # Its first step had another name then.
        connection.execute(b"update kairos.gen_durable set step = 'ship'")
    kairos("jobs", "cancel", job["id"])
    assert kairos("jobs", "retry", job["id"], "--json").json["job"]["step"] == "ship"
    assert kairos("jobs", "retry", job["id"], "--app", shop, "--json").json["job"]["step"] == "charge"


async def test_wait_prints_the_output(kairos: Terminal, app: Kairos) -> None:
    job = await ran(app, "greet", name="you")
    assert kairos("jobs", "wait", job.id).out == f'Job {job.id} (greet) is ✓ success: "Hello, you!".\n'
    assert kairos("jobs", "wait", job.id, "--json").json["job"]["output"] == "Hello, you!"


async def test_wait_for_a_job_that_failed_is_an_error(kairos: Terminal, app: Kairos) -> None:
    job = await ran(app, "fail")
    said = kairos("jobs", "wait", job.id)
    assert (said.code, said.out) == (70, "")
    assert said.err == f"kairos: Job {job.id} (fail) is failed: ValueError: out of paper\n"


async def test_wait_ends_with_its_own_code_when_the_time_is_over(kairos: Terminal, app: Kairos) -> None:
    job = await waiting(app)
    assert kairos("jobs", "wait", job.id, "--timeout", "10ms").code == 75
