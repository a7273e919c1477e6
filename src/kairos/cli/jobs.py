"""`kairos jobs …` and `kairos signal`: what people ask of jobs that exist."""

from __future__ import annotations

from typing import Annotated

import typer

from kairos import codec, documents
from kairos.app import SyncKairos
from kairos.cli import tables
from kairos.cli.lines import logs
from kairos.cli.load import load_app
from kairos.cli.place import Json, Place, on_database
from kairos.cli.reading import text_or_input
from kairos.fsm.lifecycle import JobState
from kairos.store.rows import HistoryRow, Job, SignalRow

app = typer.Typer(help="Look at jobs, and act on them.")
app.command()(logs)

Id = Annotated[int, typer.Argument(metavar="ID", show_default=False, help="The job's number.")]
WithApp = Annotated[
    str | None,
    typer.Option("--app", metavar="APP", envvar="KAIROS_APP", help="The app that knows the job's machine."),
]


@app.command("ls")
@on_database
def list_jobs(
    kairos: SyncKairos,
    state: Annotated[JobState | None, typer.Option(help="Only jobs in this state.")] = None,
    action: Annotated[str | None, typer.Option(help="Only jobs of this action.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only jobs of this queue.")] = None,
    key: Annotated[str | None, typer.Option(help="Only jobs with this partition key.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only jobs with this tag.")] = None,
    before: Annotated[int | None, typer.Option(metavar="ID", help="Only jobs older than this one.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many at most.")] = 50,
    as_json: Json = False,
) -> None:
    """List jobs, newest first."""
    found = kairos.jobs(state=state, action=action, queue=queue, key=key, tag=tag, before=before, limit=limit)
    if as_json:
        tables.document({"jobs": [documents.job(job) for job in found]})
    elif not found:
        tables.say("No jobs.")
    else:
        columns = ("id", "state", "action", "step", "attempt", "queue", "key", "when", "error")
        tables.show(columns, [_row(job) for job in found])


@app.command()
@on_database
def show(kairos: SyncKairos, job_id: Id, app: WithApp = None, as_json: Json = False) -> None:
    """Show one job with its history and its signals."""
    job = kairos.get(job_id)
    history: list[HistoryRow] = kairos.history(job_id)
    signals: list[SignalRow] = kairos.signals(job_id)
    registry = None if app is None else load_app(app, Place()).registry
    if as_json:
        tables.document(
            {
                "job": documents.job(job, registry),
                "history": [documents.change(row) for row in history],
                "signals": [documents.signal(row) for row in signals],
            }
        )
        return
    tables.facts(_facts(job, documents.redacted(job, registry)))
    if history:
        tables.say("\nHistory (UTC)")
        tables.show(
            ("at", "verb", "state", "step", "attempt", "took", "by", "reason"),
            [
                (
                    tables.clock(row.at),
                    row.verb,
                    tables.state(row.to_state),
                    row.step,
                    row.attempt or None,
                    "" if row.started_at is None else tables.span(row.at - row.started_at),
                    row.worker or row.actor,
                    row.reason,
                )
                for row in history
            ],
            wrap=True,
        )
    if signals:
        tables.say("\nSignals (UTC)")
        tables.show(
            ("signal", "sent", "taken", "payload"),
            [
                (
                    row.name,
                    tables.clock(row.inserted_at),
                    tables.clock(row.consumed_at) or "not yet",
                    tables.code(row.payload),
                )
                for row in signals
            ],
        )


@app.command()
@on_database
def cancel(
    kairos: SyncKairos,
    job_id: Id,
    reason: Annotated[str | None, typer.Option(help="Why; it is kept with the job.")] = None,
    as_json: Json = False,
) -> None:
    """Cancel a job before it runs, or ask a running one to stop."""
    job = kairos.cancel(job_id, reason=reason)
    answer(job, as_json, "" if job.is_terminal else ", and is asked to stop")


@app.command()
@on_database
def retry(kairos: SyncKairos, job_id: Id, app: WithApp = None, as_json: Json = False) -> None:
    """Make a new job from one that ended."""
    if app is not None:
        kairos.registry = load_app(app, Place()).registry
    answer(kairos.retry(job_id), as_json, f", to do again what job {job_id} did")


@app.command("run-now")
@on_database
def run_now(kairos: SyncKairos, job_id: Id, as_json: Json = False) -> None:
    """Bring a scheduled job's time forward to now."""
    answer(kairos.run_now(job_id), as_json)


@app.command()
@on_database
def wait(
    kairos: SyncKairos,
    job_id: Id,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long, such as 90s or 5m.", show_default="for ever")
    ] = None,
    as_json: Json = False,
) -> None:
    """Wait for a job to end, and print its output; any other end than success is an error."""
    kairos.result(job_id, timeout)
    job = kairos.get(job_id)
    answer(job, as_json, "" if job.output is None else f": {tables.code(job.output)}")


@on_database
def signal(
    kairos: SyncKairos,
    target: Annotated[
        str, typer.Argument(metavar="ID|KEY", show_default=False, help="The job's number, or its unique key.")
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="The signal's name.")],
    payload: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAYLOAD]", show_default=False, help="A JSON value; - reads it from standard input."
        ),
    ] = None,
    dedup_key: Annotated[
        str | None, typer.Option(help="Send it once: a second one of this key is dropped.")
    ] = None,
    by_key: Annotated[
        bool, typer.Option("--by-key", help="Take digits for a unique key, not a number.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Send a signal to a job."""
    whom = int(target) if target.isascii() and target.isdigit() and not by_key else target
    body = None if payload is None else codec.loads(text_or_input(payload), "payload")
    told = kairos.signal(whom, name, body, dedup_key=dedup_key)
    if as_json:
        tables.document({"signal": {"target": whom, "name": name, "answer": told}})
    else:
        tables.say(f"Signal {name!r} to job {whom}: {_TOLD[told]}.")


_TOLD = {
    "woke": "it was waiting for it and goes on",
    "delivered": "it is in the job's inbox",
    "duplicate": "one with that dedup key was sent before, so this one was dropped",
}


def answer(job: Job, as_json: bool, more: str = "", *, document: dict[str, object] | None = None) -> None:
    """Print one job as the answer to a verb."""
    if as_json:
        tables.document({"job": document or documents.job(job)})
    else:
        tables.say(f"Job {job.id} ({job.action}) is ", tables.state(job.state), f"{more}.")


def _row(job: Job) -> tuple[object, ...]:
    at = job.completed_at or (job.started_at if job.state is JobState.RUNNING else job.run_at)
    first_line = (job.error or "").split("\n", 1)[0]
    return (
        job.id,
        tables.state(job.state),
        job.action,
        job.step,
        job.attempt or None,
        job.queue,
        job.key,
        tables.ago(at),
        first_line,
    )


def _facts(job: Job, shown_input: object) -> list[tuple[str, object]]:
    return [
        ("job", job.id),
        ("action", f"{job.action} version {job.version}"),
        ("state", tables.state(job.state)),
        ("step", f"{job.step}, attempt {job.attempt}"),
        ("queue", job.queue),
        ("priority", job.priority or None),
        ("key", job.key),
        ("unique", job.unique),
        ("tags", ", ".join(job.tags)),
        ("input", tables.code(shown_input)),
        ("output", None if job.output is None else tables.code(job.output)),
        ("error", _error(job)),
        ("progress", None if job.progress is None else tables.code(job.progress)),
        ("waits for", ", ".join(job.awaits)),
        ("wait ends", tables.instant(job.await_until)),
        ("created", tables.instant(job.inserted_at)),
        ("due", tables.instant(job.run_at)),
        ("started", tables.instant(job.started_at)),
        ("ended", tables.instant(job.completed_at)),
        ("expires", tables.instant(job.expires_at)),
        ("cancel asked", tables.instant(job.cancel_requested_at)),
        ("cancel reason", job.cancel_reason),
        ("retry", job.retry and f"{job.retry.attempts} attempts in all, by its own policy"),
        ("retry of", job.retry_of),
        ("replies to", job.reply_to),
        ("worker", job.worker),
        ("lost workers", job.reaps or None),
        ("you can", ", ".join(job.can)),
    ]


def _error(job: Job) -> str | None:
    """The message, with its code where that says more than the message does."""
    if job.error is None or not job.error_code or job.error.startswith(job.error_code):
        return job.error
    return f"{job.error_code}: {job.error}"
