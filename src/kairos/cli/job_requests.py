"""The requests of `fsm/requests.py` as commands: `kairos jobs cancel` and so on, and `kairos signal`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Concatenate, TypeAlias

import typer

from kairos import json_codec, serializers
from kairos.app import SyncKairos
from kairos.cli import output
from kairos.cli.app_loader import load_app
from kairos.cli.database_option import DatabaseChoice, Json, on_database
from kairos.cli.parse import given, instant, length, text_or_input
from kairos.fsm.requests import REQUESTS
from kairos.shapes.job import Job

Command: TypeAlias = Callable[Concatenate[SyncKairos, ...], None]

Id = Annotated[int, typer.Argument(metavar="ID", show_default=False, help="The job's number.")]
WithApp = Annotated[
    str | None,
    typer.Option("--app", metavar="APP", envvar="KAIROS_APP", help="The app that knows the job's machine."),
]
Reason = Annotated[str | None, typer.Option(help="Why; kept in the job's history.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

_COMMANDS: dict[str, Command] = {}


def register(app: typer.Typer) -> None:
    """Add the commands, each under the name and with the help that the table gives it."""
    for request in REQUESTS.values():
        if request.name in _COMMANDS:
            app.command(request.word, help=request.help)(on_database(_COMMANDS[request.name]))


def command(function: Command) -> Command:
    """Make a function the command of the request that has its name."""
    _COMMANDS[function.__name__] = function
    return function


@command
def cancel(
    kairos: SyncKairos, job_id: Id, reason: Reason = None, yes: Yes = False, as_json: Json = False
) -> None:
    confirm("cancel", job_id, yes)
    job = kairos.cancel(job_id, reason=reason)
    answer(job, as_json, "" if job.is_terminal else ", and is asked to stop")


@command
def retry(kairos: SyncKairos, job_id: Id, app: WithApp = None, as_json: Json = False) -> None:
    if app is not None:
        kairos.registry = load_app(app, DatabaseChoice()).registry
    answer(kairos.retry(job_id), as_json, f", to do again what job {job_id} did")


@command
def run_now(kairos: SyncKairos, job_id: Id, as_json: Json = False) -> None:
    answer(kairos.run_now(job_id), as_json)


@command
def snooze(
    kairos: SyncKairos,
    job_id: Id,
    delay: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long from now, such as 90s or 5m.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="INSTANT", help="Until when, such as 2027-01-31T09:00Z.")
    ] = None,
    reason: Reason = None,
    as_json: Json = False,
) -> None:
    job = kairos.snooze(
        job_id,
        delay=None if delay is None else length(delay),
        until=None if until is None else instant(until, "--until"),
        reason=reason,
    )
    answer(job, as_json, f" until {output.instant(job.run_at)}")


@command
def edit(
    kairos: SyncKairos,
    job_id: Id,
    priority: Annotated[int | None, typer.Option(help="Lower is earlier.")] = None,
    queue: Annotated[str | None, typer.Option(help="Another queue.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="All its tags; repeat it for several.")] = None,
    run_at: Annotated[str | None, typer.Option(metavar="INSTANT", help="When it is due.")] = None,
    ttl: Annotated[str | None, typer.Option(metavar="TIME", help="How long it may wait once due.")] = None,
    as_json: Json = False,
) -> None:
    changes = given(
        priority=priority,
        queue=queue,
        tags=tag or None,
        run_at=None if run_at is None else instant(run_at, "--run-at"),
        ttl=None if ttl is None else length(ttl),
    )
    answer(kairos.edit(job_id, **changes), as_json)


@command
def delete(kairos: SyncKairos, job_id: Id, yes: Yes = False, as_json: Json = False) -> None:
    confirm("delete", job_id, yes)
    kairos.delete(job_id)
    output.result(as_json, {"deleted": job_id}, f"Job {job_id} is deleted.")


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
        str | None, typer.Option(help="Send it once: a second signal with this key is dropped.")
    ] = None,
    by_key: Annotated[
        bool, typer.Option("--by-key", help="Read digits as a unique key, not as a job's number.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Send a signal to a job."""
    whom = int(target) if target.isascii() and target.isdigit() and not by_key else target
    body = None if payload is None else json_codec.loads(text_or_input(payload), "payload")
    became = kairos.signal(whom, name, body, dedup_key=dedup_key)
    document = {"signal": {"target": whom, "name": name, "answer": became}}
    output.result(as_json, document, f"Signal {name!r} to job {whom}: {_ANSWERS[became]}.")


_ANSWERS = {
    "woke": "it was waiting for it and goes on",
    "delivered": "it is in the job's inbox",
    "duplicate": "one with that dedup key was sent before, so this one was dropped",
}


def answer(job: Job, as_json: bool, more: str = "", *, document: dict[str, object] | None = None) -> None:
    """Print the job that a request was answered with."""
    said = (f"Job {job.id} ({job.action}) is ", output.state(job.state), f"{more}.")
    output.result(as_json, {"job": document or serializers.job(job)}, *said)


def confirm(name: str, job_id: int, yes: bool) -> None:
    """Ask a person at a terminal before something dangerous is done; a script is not asked."""
    request = REQUESTS[name]
    if request.dangerous and not yes and sys.stdin.isatty():
        typer.confirm(f"{request.label} job {job_id}? {request.effect}", abort=True, err=True)
