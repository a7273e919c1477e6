"""The line behind a key: three jobs, two pickers, holders that may die, and a sweep as the floor.

A picker works in steps, as the engine's does: it meets the open jobs, looks again under the key's lock, and then
claims or holds. Freeing the key is two steps: the commit, and then the opening, which waits for the lock. So is an
insert: it looks whether it is behind anyone, and joins the line on hold if so. A mutant is the name of a guard that
is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

JOBS = 3
ABSENT, OPEN, HELD, RUNS, ENDED = "absent", "open", "held", "runs", "ended"


@dataclass(frozen=True)
class Picker:
    """The jobs it met; and, under the lock, whether it found the key free and who was first."""

    met: frozenset[int]
    locked: bool = False
    head: int | None = None


@dataclass(frozen=True)
class Line:
    jobs: tuple[str, ...] = (OPEN,) * JOBS
    pickers: tuple[Picker | None, Picker | None] = (None, None)
    lock: int | None = None  # the picker that has the key's lock
    opening: int = 0  # commits whose opening of the key is still to come
    inserting: tuple[tuple[int, str], ...] = ()  # who is about to join, and how

    @property
    def is_quiet(self) -> bool:
        """Nothing is under way."""
        return not (self.opening or any(self.pickers) or self.inserting or RUNS in self.jobs)


# All in line from the start; and a more urgent and a later one that come when they like.
TOGETHER = Line()
COMING = Line((ABSENT, OPEN, ABSENT))


class Key:
    """What can happen next."""

    def __init__(self, mutant: str = "") -> None:
        self._mutant = mutant

    def __call__(self, line: Line) -> Iterator[tuple[str, Line]]:
        for place in (0, 1):
            yield from self._picks(line, place)
        for job, state in enumerate(line.jobs):
            if state == ABSENT and not line.inserting:
                ahead = any(other in (OPEN, HELD) for other in line.jobs[:job])
                yield f"{job} is inserted", replace(line, inserting=((job, HELD if ahead else OPEN),))
            if state == RUNS:
                yield f"{job} ends", replace(_with(line, {job: ENDED}), opening=line.opening + 1)
                yield f"{job} ends and its worker dies", _with(line, {job: ENDED})
        for job, joins in line.inserting:
            yield f"{job} is committed", replace(_with(line, {job: joins}), inserting=())
        if line.opening and (line.lock is None or self._mutant == "opens under a picker"):
            yield "opens", replace(self._opened(line), opening=line.opening - 1)

    def sweep(self, line: Line) -> Line:
        return line if self._mutant == "no sweep" else self._opened(line)

    def _picks(self, line: Line, place: int) -> Iterator[tuple[str, Line]]:
        picker = line.pickers[place]
        if picker is None:
            met = frozenset(job for job, state in enumerate(line.jobs) if state == OPEN)
            if met:
                yield f"p{place} meets", _picking(line, place, Picker(met))
        elif not picker.locked:
            if line.lock is not None and self._mutant != "no lock":
                yield f"p{place} is locked out", _picking(line, place, None)
            else:
                looked = replace(picker, locked=True, head=_head(line))
                yield f"p{place} looks", replace(_picking(line, place, looked), lock=place)
        else:
            yield f"p{place} commits", self._picked(line, place, picker)

    def _picked(self, line: Line, place: int, picker: Picker) -> Line:
        changes = {job: HELD for job in picker.met if job != picker.head and line.jobs[job] == OPEN}
        if picker.head in picker.met and line.jobs[picker.head] == OPEN:
            changes[picker.head] = RUNS
        elif picker.head is not None and line.jobs[picker.head] == HELD:
            changes[picker.head] = OPEN
        return replace(_picking(_with(line, changes), place, None), lock=None)

    def _opened(self, line: Line) -> Line:
        head = _head(line)
        return line if head is None or line.jobs[head] != HELD else _with(line, {head: OPEN})


def one_runs(before: Line, name: str, after: Line) -> str | None:
    return "two run at once" if after.jobs.count(RUNS) > 1 else None


def in_order(before: Line, name: str, after: Line) -> str | None:
    started = [job for job in range(JOBS) if before.jobs[job] != RUNS and after.jobs[job] == RUNS]
    early = [job for job in started if any(state in (OPEN, HELD) for state in before.jobs[:job])]
    return "one ran before its turn" if early else None


def nobody_is_forgotten(key: Key) -> object:
    """When nothing is under way any more, a sweep leaves an open head, or there is no line."""

    def law(before: Line, name: str, after: Line) -> str | None:
        if not after.is_quiet or HELD not in after.jobs:
            return None
        return None if OPEN in key.sweep(after).jobs else "those on hold are forgotten"

    return law


def without_the_sweep(before: Line, name: str, after: Line) -> str | None:
    """As long as no worker dies, the commits alone keep the line going."""
    stands = after.is_quiet and HELD in after.jobs and OPEN not in after.jobs
    return "the line stands still until the sweep" if stands else None


def _head(line: Line) -> int | None:
    """The first in line, if the key is free."""
    if RUNS in line.jobs:
        return None
    return next((job for job, state in enumerate(line.jobs) if state in (OPEN, HELD)), None)


def _with(line: Line, changes: dict[int, str]) -> Line:
    return replace(line, jobs=tuple(changes.get(job, state) for job, state in enumerate(line.jobs)))


def _picking(line: Line, place: int, picker: Picker | None) -> Line:
    pickers = (picker, line.pickers[1]) if place == 0 else (line.pickers[0], picker)
    return replace(line, pickers=pickers)
