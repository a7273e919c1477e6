"""`kairos top`: what happens now, live in the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from kairos.app import SyncKairos
from kairos.cli import tables
from kairos.cli.place import on_database
from kairos.cli.queues import count
from kairos.errors import DatabaseUnavailable
from kairos.fsm.lifecycle import JobState

# The states of live work, in the order of a job's life.
_LIVE = (JobState.SCHEDULED, JobState.PENDING, JobState.RUNNING, JobState.WAITING)
_LATEST = 10
# A worker that was not seen for so long is gone, or cannot reach the database.
_SILENT = timedelta(seconds=30)


@on_database
def top(
    kairos: SyncKairos,
    every: Annotated[float, typer.Option(min=0.1, max=60, help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print one look and end, as in a pipe.")] = False,
) -> None:
    """Watch queues, workers and jobs; Ctrl-C ends it."""
    if once or not sys.stdout.isatty():
        tables.console().print(_look(kairos))
        return
    view = tables.console()
    with Live(console=view, screen=True, auto_refresh=False) as live:
        _watch(lambda: _look(kairos), live.update, every)


def _watch(look: Callable[[], RenderableType], update: Callable[..., Any], every: float) -> None:
    """Look again and again; a database that is away is said, and waited for."""
    while True:
        try:
            update(look(), refresh=True)
        except DatabaseUnavailable as error:
            update(Text(error.message, style="red"), refresh=True)
        except KeyboardInterrupt:
            return
        try:
            time.sleep(every)
        except KeyboardInterrupt:
            return


def _look(kairos: SyncKairos) -> RenderableType:
    return Group(*(part for part in _parts(kairos)))


def _parts(kairos: SyncKairos) -> Iterator[RenderableType]:
    queues = kairos.queues()
    sums = {state: sum(getattr(queue, state) for queue in queues) for state in _LIVE}
    more = {state: "+" if any(state in queue.at_least for queue in queues) else "" for state in _LIVE}
    yield Text("   ").join(
        Text.assemble(tables.state(state), f" {sums[state]}{more[state]}") for state in _LIVE
    )
    yield Text()
    if queues:
        yield tables.table(
            ("queue", *_LIVE, ""),
            [
                (queue.name, *(count(queue, state) for state in _LIVE), "paused" if queue.paused_at else "")
                for queue in queues
            ],
        )
    else:
        yield Text("No live work.")
    yield Text()
    workers = kairos.workers()
    if workers:
        newest = max(worker.seen_at for worker in workers)
        yield tables.table(
            ("worker", "queues", "steps at once", "since", "seen", ""),
            [
                (
                    worker.id,
                    ", ".join(worker.queues),
                    worker.concurrency,
                    tables.ago(worker.started_at),
                    tables.ago(worker.seen_at),
                    _condition(worker, newest),
                )
                for worker in workers
            ],
        )
    else:
        yield Text("No worker is there.", style="red")
    for state in (JobState.RUNNING, JobState.FAILED):
        if jobs := kairos.jobs(state=state, limit=_LATEST):
            yield Text()
            yield tables.table(
                ("job", "state", "action", "step", "since", "error"),
                [
                    (
                        job.id,
                        tables.state(job.state),
                        job.action,
                        job.step,
                        tables.ago(job.completed_at or job.started_at),
                        job.error if job.state is JobState.FAILED else "",
                    )
                    for job in jobs
                ],
            )


def _condition(worker: Any, newest: Any) -> str:
    if worker.stopping_at is not None:
        return "stopping"
    return "silent" if newest - worker.seen_at > _SILENT else ""
