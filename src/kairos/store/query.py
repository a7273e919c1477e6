"""The effects that an operation yields (statement, pause, notification), the two runners, and the statements' SQL."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeAlias, TypeVar

from kairos.errors import NotFound

Row: TypeAlias = Mapping[str, Any]
T = TypeVar("T")
E = TypeVar("E")

# A notification for one worker, told apart from those for a queue: no queue name has a control character.
TO_WORKER = "\x02"


@dataclass(frozen=True, slots=True)
class Query:
    """One statement: `name` is that of its file, and `params` are its parameters."""

    name: str
    params: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """Make the runner wait; an operation never sleeps by itself."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Notify:
    """Notify workers once the statements before it are committed: of jobs in `queues`, of a cancel request for
    `cancelled` jobs that they run, of a drain request to the `drained` workers.

    A notification may be lost, since workers also poll.
    """

    queues: Iterable[str] = ()
    cancelled: Iterable[int] = ()
    drained: Iterable[str] = ()

    def queries(self) -> list[Query]:
        """Return the statements that send the notification."""
        queues = [*sorted(self.queues), *(f"{TO_WORKER}{worker}" for worker in self.drained)]
        cancelled = sorted(self.cancelled)
        found = [Query("notify_queues", (queues,))] if queues else []
        return [*found, Query("notify_cancel", (cancelled,))] if cancelled else found


class Outbox:
    """Collect notifications until their commit, each queue, job and worker once.

    A NOTIFY inside a transaction makes such commits wait for each other, so our own transactions send it after
    their commit. On a user's connection only the user's commit can send it (decision 0022).
    """

    def __init__(self) -> None:
        self._queues: set[str] = set()
        self._cancelled: set[int] = set()
        self._drained: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._queues or self._cancelled or self._drained)

    def add(self, notify: Notify) -> None:
        self._queues.update(notify.queues)
        self._cancelled.update(notify.cancelled)
        self._drained.update(notify.drained)

    def take(self) -> Notify:
        """Return all that was added as one notification, and empty the outbox."""
        taken = Notify(self._queues, self._cancelled, self._drained)
        self._queues, self._cancelled, self._drained = set(), set(), set()
        return taken


# An operation is a generator: it yields what to do, is sent the rows of each statement, and returns its answer.
# One source for the async app, the sync app and users' own connections; each of those is a small runner.
Operation: TypeAlias = Generator[Query | Pause | Notify, Sequence[Row], T]


def required_row(query: Query, missing: str) -> Operation[Row]:
    """Run a statement and return its first row; raise `NotFound` with the message `missing` if it has none."""
    rows = yield query
    if not rows:
        raise NotFound(missing)
    return rows[0]


async def drive(
    operation: Generator[Any, Any, T],
    execute: Callable[[Any], Awaitable[Any]],
    outbox: Outbox | None = None,
) -> T:
    """Run an operation and return its result; its notifications go into the outbox, or are dropped without one."""
    rows: Any = None
    while not isinstance(effect := advance(operation, rows), Returned):
        if isinstance(effect, Pause):
            rows = await asyncio.sleep(effect.seconds, ())
        elif isinstance(effect, Notify):
            rows = _keep(effect, outbox)
        else:
            rows = await execute(effect)
    return effect.value


def drive_sync(
    operation: Generator[Any, Any, T], execute: Callable[[Any], Any], outbox: Outbox | None = None
) -> T:
    """`drive` without an event loop."""
    rows: Any = None
    while not isinstance(effect := advance(operation, rows), Returned):
        if isinstance(effect, Pause):
            time.sleep(effect.seconds)
            rows = ()
        elif isinstance(effect, Notify):
            rows = _keep(effect, outbox)
        else:
            rows = execute(effect)
    return effect.value


@dataclass(frozen=True, slots=True)
class Returned(Generic[T]):
    """The end of a generator, with what it returned."""

    value: T


def advance(generator: Generator[E, Any, T], answer: Any) -> E | Returned[T]:
    """Send an answer to a generator; return what it yields next, or `Returned` at its end."""
    try:
        return generator.send(answer)
    except StopIteration as stop:
        return Returned(stop.value)


def _keep(notify: Notify, outbox: Outbox | None) -> Sequence[Row]:
    if outbox is not None:
        outbox.add(notify)
    return ()


# A fragment is part of the text of each statement that names it. A function in the database would be planned on each
# call of the statement before Postgres 18, and its parameters would be part of the schema that old workers rely on.
_HEADER = re.compile(r"\A(?:--.*\n)+")
_FRAGMENT = re.compile(r"^ *\{(\w+)(?:: (.*))?\}", re.MULTILINE)


@cache
def statements(schema: str) -> Mapping[str, str]:
    """Return the SQL of every statement by the name of its file; the folders only group the files.

    A line `{name}` stands for the fragment of that name: text that several statements share. In the fragment
    `{queue}` stands for what the line gives as `queue`, as in `{waiting_lines: queue=$1; after=''}`.
    """
    found: dict[str, str] = {}
    sql = files("kairos.store") / "sql"
    fragments = {
        file.name.removesuffix(".sql"): _HEADER.sub("", file.read_text()).rstrip()
        for file in (sql / "fragments").iterdir()
        if file.name.endswith(".sql")
    }
    folders = [each for each in (sql / "queries").iterdir() if each.is_dir()]
    for file in (file for folder in folders for file in folder.iterdir() if file.name.endswith(".sql")):
        name = file.name.removesuffix(".sql")
        if name in found:
            raise AssertionError(f"Two statements are named {name}.")
        found[name] = in_schema(_with_fragments(file.read_text(), fragments), schema)
    return found


def _with_fragments(text: str, fragments: Mapping[str, str]) -> str:
    def included(line: re.Match[str]) -> str:
        fragment = fragments[line[1]]
        for argument in line[2].split("; ") if line[2] else ():
            name, _, value = argument.partition("=")
            fragment = fragment.replace(f"{{{name}}}", value)
        return _with_fragments(fragment, fragments)

    return _FRAGMENT.sub(included, text)


# A comment, a literal (with the cast that makes it the name of a table or sequence), the name of a setting, or the
# schema before a name.
_TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|current_setting\('kairos\.\w+'|'(?:[^']|'')*'(?:::regclass)?|\bkairos\.(?=\w)",
    re.DOTALL,
)


def in_schema(sql: str, schema: str) -> str:
    """Return the SQL for another schema: `kairos.` before a name is replaced by the schema.

    A string literal is rewritten only if it is cast to `regclass` or names the setting that `current_setting` reads:
    the action 'kairos.webhook' has that name in every schema. Dollar-quoted function bodies are rewritten as code. The
    settings validate schema names, so no quoting is needed.
    """
    return sql if schema == "kairos" else _TOKEN.sub(lambda found: _renamed(found[0], schema), sql)


def _renamed(text: str, schema: str) -> str:
    if text == "kairos." or text.startswith("current_setting"):
        return text.replace("kairos.", f"{schema}.")
    if text.endswith("'::regclass"):
        return text.replace("'kairos.", f"'{schema}.")
    return text
