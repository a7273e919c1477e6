"""Workers in processes of their own, to be stopped, killed and replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaos.journal import Journal
from chaos.processes import Forked, end_keepers, preload
from tests.worker.programs import journaling_worker
from tests.worker.world import until

from kairos.worker.keeper import is_stopped

preload("tests.worker.programs.journaling_worker", "chaos.program")


class Crew:
    """The workers of one test, their journal, and the app to enqueue through; nobody outlives the test."""

    def __init__(self, database: str, folder: Path) -> None:
        self.database = database
        self.folder = folder
        self.journal = Journal(folder / "journal")
        self.app = journaling_worker.build(database, folder)
        self.hands: list[Forked] = []

    def hire(self, **settings: Any) -> Forked:
        """Start a worker; it has to be waited for if that matters."""
        self.hands.append(
            Forked(journaling_worker.main, self.database, self.folder, {"poll": 0.1, **settings})
        )
        return self.hands[-1]

    async def ready(self, **settings: Any) -> Forked:
        """Start a worker and wait until it works and has its keeper."""
        new = self.hire(**settings)
        await until(lambda: self.events("ready", pid=new.pid) and new.waiting_keepers(), "a worker")
        return new

    def events(self, event: str, **like: Any) -> list[dict[str, Any]]:
        """What the journal has of an event."""
        return self.journal.events(event, **like)

    async def inside(self, job_id: int, **like: Any) -> dict[str, Any]:
        """Wait until a step of the job has begun."""
        return (await until(lambda: self.events("begin", job=job_id, **like), f"job {job_id} begun"))[-1]

    def arm(self, failpoint: str) -> None:
        (self.folder / failpoint).touch()

    def arm_freeze(self, failpoint: str) -> None:
        """The worker that comes there is stopped, and its connections stay as they are."""
        (self.folder / failpoint).write_text(journaling_worker.FREEZE)

    async def frozen(self, victim: Forked) -> None:
        await until(lambda: is_stopped(victim.pid), "a frozen worker")

    async def other_than_frozen(self, both: list[Forked]) -> Forked:
        """Wait until one of two workers is stopped; return the other, which was there before."""
        await until(lambda: any(is_stopped(each.pid) for each in both), "a frozen worker")
        (other,) = (each for each in both if not is_stopped(each.pid))
        return other

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def dismiss(self) -> None:
        for each in self.hands:
            if each.code is None:
                each.kill()
        end_keepers(f"{journaling_worker.FOLDER}={self.folder}")
