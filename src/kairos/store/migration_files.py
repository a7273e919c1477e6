"""The migration files: numbered, each a sequence of steps, each step its own transaction.

    -- What the migration is for.
    -- breaks code before: 14          (optional) code older than schema version 14 cannot use the result
    -- optional                        (optional) code of this version also works without it, only slower

    -- step: add the column
    alter table kairos.queues add column weight int;

    -- step: build the index (outside a transaction)
    create index concurrently queues_weight on kairos.queues (weight);

A file without a step line is one step. CONTRIBUTING.md says what a step may do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from kairos.store.query import in_schema

FOLDER = files("kairos.store") / "sql" / "migrations"

_STEP = re.compile(r"^-- step: (?P<name>.+?)(?P<outside> \(outside a transaction\))?$", re.M)
_BREAKS = re.compile(r"^-- breaks code before: (\d+)$", re.M)
_OPTIONAL = re.compile(r"^-- optional$", re.M)
_COMMENT = re.compile(r"--[^\n]*")
_INDEX = re.compile(
    r"(?:create (?:unique )?index concurrently (?P<built>\w+) on|drop index concurrently if exists kairos\.\w+)\b"
    r"[^;]*;?"
)

# Released before migrations had steps, and never edited. Each mixes building and dropping indexes, which deadlocks
# with workers in one transaction: every statement that does either is a step of its own, and runs concurrently.
_INDEXES_APART = ("0009_bounds", "0010_queues")


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction of a migration, or one statement outside of any.

    `builds` names the index that a statement outside a transaction creates: an interrupted one leaves it invalid.
    """

    number: int
    name: str
    sql: str
    checksum: str
    outside: bool = False
    builds: str | None = None


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    steps: tuple[Step, ...]
    breaks_before: int = 0
    optional: bool = False


def migrations(schema: str = "kairos") -> tuple[Migration, ...]:
    """Return all migrations in the order of their numbers, which may have gaps."""
    names = sorted(file.name for file in FOLDER.iterdir() if file.name.endswith(".sql"))
    return tuple(parse(name.removesuffix(".sql"), (FOLDER / name).read_text(), schema) for name in names)


def wanted_version() -> int:
    """Return the schema version that this code was written for."""
    return migrations()[-1].version


def parse(name: str, text: str, schema: str = "kairos") -> Migration:
    """Read one file; `name` begins with its number."""
    header = text[: first.start()] if (first := _STEP.search(text)) else ""
    if _code(header):
        raise ValueError(f"{name} has SQL before its first step: move it below a `-- step:` line.")
    breaks = _BREAKS.search(header)
    parts = _released(text) if name in _INDEXES_APART else _parts(name, text)
    return Migration(
        int(name[:4]),
        name,
        tuple(_step(name, number, *part, schema) for number, part in enumerate(parts, 1)),
        int(breaks.group(1)) if breaks else 0,
        _OPTIONAL.search(header) is not None,
    )


def _parts(name: str, text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the name and the text of each step, and whether it runs outside a transaction."""
    marks = list(_STEP.finditer(text))
    if not marks:
        yield name, text, False
    ends = [*(mark.start() for mark in marks[1:]), len(text)] if marks else []
    for mark, end in zip(marks, ends, strict=True):
        yield mark["name"], text[mark.end() : end], mark["outside"] is not None


def _released(text: str) -> Iterator[tuple[str, str, bool]]:
    for part in re.split(r"^(?=(?:create|drop) )", text, flags=re.M):
        if not (code := _code(part)):
            continue
        if not code.startswith(("create index", "drop index")):
            yield " ".join(code.split()[:3]), part, False
            continue
        concurrently = re.sub(r"^drop index ", "drop index concurrently if exists ", code)
        yield code.split()[2], re.sub(r"^create index ", "create index concurrently ", concurrently), True


def _step(migration: str, number: int, name: str, sql: str, outside: bool, schema: str) -> Step:
    index = _INDEX.fullmatch(_code(sql)) if outside else None
    if outside and index is None:
        raise ValueError(
            f"Step {number} of {migration} runs outside a transaction, so it must be one `create index concurrently "
            "name on …` or `drop index concurrently if exists kairos.name`: nothing else can be resumed."
        )
    return Step(
        number, name, in_schema(sql, schema), checksum(sql), outside, index["built"] if index else None
    )


def _code(sql: str) -> str:
    """Return the text without comments, to tell statements apart; it may not run, since literals may contain `--`."""
    return _COMMENT.sub("", sql).strip()


def checksum(sql: str) -> str:
    """Return a digest that identifies the text of an applied statement."""
    return hashlib.sha256(sql.strip().encode()).hexdigest()
