"""`kairos top`: a live view of queues, workers and jobs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from kairos import serializers, shapes
from kairos.alarms.thresholds import LIVE_FOR
from kairos.app import SyncKairos
from kairos.cli import output
from kairos.cli.database_option import Json, on_database
from kairos.cli.queues import count
from kairos.errors import DatabaseUnavailable
from kairos.fsm.lifecycle import LIVE, JobState

_LATEST = 10
_LATEST_OF = (JobState.RUNNING, JobState.FAILED)


@on_database
def top(
    kairos: SyncKairos,
    every: Annotated[float, typer.Option(min=0.1, max=60, help="Seconds between two refreshes.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print once and end, as in a pipe.")] = False,
    as_json: Json = False,
) -> None:
    """Watch queues, workers and jobs; Ctrl-C ends it."""
    if as_json:
        output.document(_document(kairos))
        return
    if once or not sys.stdout.isatty():
        output.console().print(_render(kairos))
        return
    view = output.console()
    with Live(console=view, screen=True, auto_refresh=False) as live:
        _watch(lambda: _render(kairos), live.update, every)


def _watch(render: Callable[[], RenderableType], update: Callable[..., Any], every: float) -> None:
    """Refresh the view until interrupted; show an unreachable database and wait for it."""
    while True:
        try:
            update(render(), refresh=True)
        except DatabaseUnavailable as error:
            update(Text(error.message, style="red"), refresh=True)
        except KeyboardInterrupt:
            return
        try:
            time.sleep(every)
        except KeyboardInterrupt:
            return


def _document(kairos: SyncKairos) -> dict[str, Any]:
    """Return the view once, as JSON with the names of the API."""
    latest = [job for state in _LATEST_OF for job in kairos.jobs(state=state, limit=_LATEST)]
    return {
        "queues": [shapes.document(queue) for queue in kairos.queues()],
        "workers": [shapes.document(worker) for worker in kairos.workers()],
        "jobs": [serializers.job(job, kairos.registry, with_state=False) for job in latest],
    }


def _render(kairos: SyncKairos) -> RenderableType:
    return Group(*(part for part in _parts(kairos)))


def _parts(kairos: SyncKairos) -> Iterator[RenderableType]:
    queues = kairos.queues()
    sums = {state: sum(getattr(queue, state) for queue in queues) for state in LIVE}
    more = {state: "+" if any(state in queue.at_least for queue in queues) else "" for state in LIVE}
    yield Text("   ").join(
        Text.assemble(output.state(state), f" {sums[state]}{more[state]}") for state in LIVE
    )
    yield Text()
    if queues:
        yield output.table(
            ("queue", *LIVE, ""),
            [
                (queue.name, *(count(queue, state) for state in LIVE), "paused" if queue.paused_at else "")
                for queue in queues
            ],
        )
    else:
        yield Text("No live work.")
    yield Text()
    workers = kairos.workers()
    if workers:
        newest = max(worker.seen_at for worker in workers)
        yield output.table(
            ("worker", "queues", "steps at once", "since", "seen", ""),
            [
                (
                    worker.id,
                    ", ".join(worker.queues),
                    worker.concurrency,
                    output.ago(worker.started_at),
                    output.ago(worker.seen_at),
                    _condition(worker, newest),
                )
                for worker in workers
            ],
        )
    else:
        yield Text("No worker is there.", style="red")
    for state in _LATEST_OF:
        if jobs := kairos.jobs(state=state, limit=_LATEST):
            yield Text()
            yield output.table(
                ("job", "state", "action", "step", "since", "error"),
                [
                    (
                        job.id,
                        output.state(job.state),
                        job.action,
                        job.step,
                        output.ago(job.completed_at or job.started_at),
                        job.error if job.state is JobState.FAILED else "",
                    )
                    for job in jobs
                ],
            )


def _condition(worker: Any, newest: Any) -> str:
    if worker.stopping_at is not None:
        return "stopping"
    return "silent" if newest - worker.seen_at > LIVE_FOR else ""
