"""`kairos jobs …`: reading jobs; what changes them is in `job_requests.py`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kairos import serializers, shapes
from kairos.app import SyncKairos
from kairos.cli import output
from kairos.cli.app_loader import load_app
from kairos.cli.database_option import DatabaseChoice, Json, on_database
from kairos.cli.filter_options import with_filters
from kairos.cli.job_requests import Id, WithApp, answer, register
from kairos.cli.jobs_logs import logs
from kairos.cli.parse import length
from kairos.fsm.lifecycle import JobState
from kairos.shapes.history import HistoryRow
from kairos.shapes.job import Job
from kairos.shapes.signal import SignalRow

app = typer.Typer(help="Look at jobs, and act on them.")
app.command()(logs)
register(app)


@app.command("ls")
@on_database
@with_filters
def list_jobs(
    kairos: SyncKairos,
    before: Annotated[int | None, typer.Option(metavar="ID", help="Only jobs older than this one.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many at most.")] = 50,
    as_json: Json = False,
    **filters: Any,
) -> None:
    """List jobs, newest first."""
    found = kairos.jobs(**filters, before=before, limit=limit)
    output.listing(
        as_json,
        ("jobs", (serializers.job(job, with_state=False) for job in found)),
        ("id", "state", "action", "step", "attempt", "queue", "key", "when", "error"),
        map(_row, found),
        "No jobs.",
    )


@app.command()
@on_database
def show(kairos: SyncKairos, job_id: Id, app: WithApp = None, as_json: Json = False) -> None:
    """Show one job with its history and its signals."""
    job = kairos.get(job_id)
    history: list[HistoryRow] = kairos.history(job_id)
    signals: list[SignalRow] = kairos.signals(job_id)
    registry = None if app is None else load_app(app, DatabaseChoice()).registry
    if as_json:
        output.document(
            {
                "job": serializers.job(job, registry),
                "history": serializers.history(history, job, registry),
                "signals": [shapes.document(row) for row in signals],
            }
        )
        return
    output.facts(_facts(job, serializers.redacted_input(job, registry)))
    if history:
        output.say("\nHistory (UTC)")
        output.show(
            ("at", "verb", "state", "step", "attempt", "took", "by", "reason"),
            [
                (
                    output.clock(row.at),
                    row.verb,
                    output.state(row.to_state),
                    row.step,
                    row.attempt or None,
                    "" if row.started_at is None else output.span(row.at - row.started_at),
                    row.worker or row.actor,
                    row.reason,
                )
                for row in history
            ],
            wrap=True,
        )
    if signals:
        output.say("\nSignals (UTC)")
        output.show(
            ("signal", "sent", "taken", "payload"),
            [
                (
                    row.name,
                    output.clock(row.inserted_at),
                    output.clock(row.consumed_at) or "not yet",
                    output.code(row.payload),
                )
                for row in signals
            ],
        )


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
    kairos.result(job_id, None if timeout is None else length(timeout))
    job = kairos.get(job_id)
    answer(job, as_json, "" if job.output is None else f": {output.code(job.output)}")


def _row(job: Job) -> tuple[object, ...]:
    at = job.completed_at or (job.started_at if job.state is JobState.RUNNING else job.run_at)
    first_line = (job.error or "").split("\n", 1)[0]
    return (
        job.id,
        output.state(job.state),
        job.action,
        job.step,
        job.attempt or None,
        job.queue,
        job.key,
        output.ago(at),
        first_line,
    )


def _facts(job: Job, shown_input: object) -> list[tuple[str, object]]:
    return [
        ("job", job.id),
        ("action", f"{job.action} version {job.version}"),
        ("state", output.state(job.state)),
        ("step", f"{job.step}, attempt {job.attempt}"),
        ("queue", job.queue),
        ("priority", job.priority or None),
        ("key", job.key),
        ("unique", job.unique),
        ("tags", ", ".join(job.tags)),
        ("input", output.code(shown_input)),
        ("output", None if job.output is None else output.code(job.output)),
        ("error", _error(job)),
        ("progress", None if job.progress is None else output.code(job.progress)),
        ("waits for", ", ".join(job.awaits)),
        ("wait ends", output.instant(job.await_until)),
        ("created", output.instant(job.inserted_at)),
        ("due", output.instant(job.run_at)),
        ("started", output.instant(job.started_at)),
        ("ended", output.instant(job.completed_at)),
        ("expires", output.instant(job.expires_at)),
        ("cancel asked", output.instant(job.cancel_requested_at)),
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
