"""Databases of earlier versions, and folders with migrations that come after today's."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg

from kairos.store import migration_files
from kairos.store.query import in_schema

REAL = Path(str(migration_files.FOLDER))


def files(folder: Path, *, upto: int = 9999, **later: str) -> Path:
    """A folder with the real migrations up to a version, and `later` ones by name (`m0099_more="create …"`)."""
    folder.mkdir(exist_ok=True)
    for file in REAL.glob("*.sql"):
        if int(file.name[:4]) <= upto:
            shutil.copy(file, folder / file.name)
    for name, sql in later.items():
        (folder / f"{name.removeprefix('m')}.sql").write_text(sql)
    return folder


def as_released(url: str, version: int) -> None:
    """Bring a bare database to a version before 11 as the code of that version did: each file in one transaction."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create schema kairos")
        connection.execute(
            "create table kairos.migrations"
            " (version int primary key, name text not null, applied_at timestamptz not null default now())"
        )
        for file in sorted(REAL.glob("*.sql")):
            if int(file.name[:4]) > version:
                break
            with connection.transaction():
                connection.execute(in_schema(file.read_text(), "kairos").encode())
                connection.execute(
                    "insert into kairos.migrations (version, name) values (%s, %s)",
                    (int(file.name[:4]), file.name.removesuffix(".sql")),
                )


def ask(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []
