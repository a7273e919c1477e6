"""`kairos migrate`: bring the schema of the database up to date."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from kairos.cli import output
from kairos.cli.database_option import DatabaseChoice, Json, client, with_database
from kairos.store.migration_files import wanted_version

RuntimeRole = Annotated[
    str | None,
    typer.Option(
        "--runtime-role",
        metavar="NAME",
        help="Grant this role what workers and the service need, and no more; KAIROS_RUNTIME_ROLE says the same.",
    ),
]


@with_database
def migrate(database: DatabaseChoice, as_json: Json = False, runtime_role: RuntimeRole = None) -> None:
    """Bring the schema of the database up to date."""
    settings = database.settings()
    if runtime_role is not None:
        settings = replace(settings, runtime_role=runtime_role)
    kairos = client(settings)
    try:
        applied = kairos.migrate()
    finally:
        kairos.close()
    if as_json:
        output.document({"applied": applied, "version": wanted_version()})
    elif applied:
        output.say(f"Applied {', '.join(applied)}.")
    else:
        output.say(f"The schema is at version {wanted_version()}, as it should be: nothing to do.")
