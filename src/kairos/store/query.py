"""A statement as a value: which `.sql` file, with which parameters. Running it is someone else's work."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias, TypeVar

Row: TypeAlias = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Query:
    """One statement: `name` is its file, its metric and its test.

    `pokes` are the queues whose workers get a hint once the statement is committed.
    """

    name: str
    params: tuple[Any, ...] = ()
    pokes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pause:
    """Ask the runner to wait; a verb never sleeps by itself."""

    seconds: float


# Statements that only tell others. A NOTIFY inside a transaction that inserts makes such commits wait for each other:
# in our own they are sent once it is committed.
HINTS = frozenset({"notify_queues", "notify_cancel"})

# A verb is a generator of statements: it yields what to run, is sent the rows, and returns its answer.
# One source for async, sync and people's own connections; each of those is a small runner.
Verb: TypeAlias = Generator[Query | Pause, Sequence[Row], T]


async def drive(verb: Generator[Any, Any, T], execute: Callable[[Any], Awaitable[Any]]) -> T:
    """Run a verb, or whatever else says what it needs, to its answer in the async world."""
    rows: Any = None
    while True:
        try:
            effect = verb.send(rows)
        except StopIteration as stop:
            answer: T = stop.value
            return answer
        if isinstance(effect, Pause):
            rows = await asyncio.sleep(effect.seconds, ())
        else:
            rows = await execute(effect)


def drive_sync(verb: Generator[Any, Any, T], execute: Callable[[Any], Any]) -> T:
    """The same in the sync world."""
    rows: Any = None
    while True:
        try:
            effect = verb.send(rows)
        except StopIteration as stop:
            answer: T = stop.value
            return answer
        if isinstance(effect, Pause):
            time.sleep(effect.seconds)
            rows = ()
        else:
            rows = execute(effect)


@cache
def statements(schema: str) -> Mapping[str, str]:
    """Every statement by name, with `kairos.` standing for the schema in use."""
    folder = files("kairos.store") / "sql" / "queries"
    return {
        file.name.removesuffix(".sql"): in_schema(file.read_text(), schema)
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    }


def in_schema(sql: str, schema: str) -> str:
    """The same SQL for another schema; names are checked by the settings, so no quoting is needed."""
    return sql if schema == "kairos" else re.sub(r"\bkairos\.", f"{schema}.", sql)
