"""The SQL interface: `kairos.enqueue`, `kairos.signal`, `kairos.cancel` and the view `kairos.jobs`.

Its functions run the same statements as the Python side: each statement that it needs is a function with the text of
its file. `kairos migrate` applies the whole when it differs from what the database has (decision 0085); the comment on
`kairos.enqueue` says which that is.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from kairos.store.migration_files import checksum, wanted_version
from kairos.store.query import statements

# The schema version whose tables it needs.
_SINCE = 40
_COMMENT = re.compile(r"schema version (\d+), checksum (\w+)")

# The statements that it runs, with the types of their parameters and the columns that they return.
_STATEMENTS = {
    "insert_jobs": (
        ", ".join(["text"] * 25),
        "id bigint, is_new boolean, eligible_at timestamptz, expires_at timestamptz, inserted_at timestamptz,"
        " state text",
    ),
    "list_queue_names": ("int", "name text"),
    "deliver_signal": (
        "bigint, bytea, text, text, text, text",
        "id bigint, answer text, most_signals int, most_bytes bigint",
    ),
    "cancel_jobs": (
        "bigint[], text, text",
        "id bigint, done boolean, running boolean, state text, freed_key text",
    ),
    "open_keys": ("text[]", "queue text"),
}


@cache
def interface_sql() -> str:
    """Return the SQL that creates or replaces the whole interface."""
    folder = files("kairos.store") / "sql" / "interface"
    texts = [file.read_text() for file in sorted(folder.iterdir(), key=lambda file: file.name)]
    return "\n".join([*(_function(name) for name in _STATEMENTS), *texts])


def is_wanted(comment: str | None) -> bool:
    """Whether the interface in the database differs from this code's and is not from a newer release."""
    if wanted_version() < _SINCE:
        return False
    found = _COMMENT.search(comment or "")
    return found is None or (found[2] != checksum(interface_sql()) and int(found[1]) <= wanted_version())


def record(schema: str) -> str:
    """Return the statement that records which interface was applied."""
    text = (
        f"Enqueue a job of an action. schema version {wanted_version()}, checksum {checksum(interface_sql())}"
    )
    return f"comment on function {schema}.enqueue is '{text}'"


def _function(name: str) -> str:
    # PL/pgSQL keeps the plan for the session; a function in SQL is planned at each call before Postgres 18.
    parameters, columns = _STATEMENTS[name]
    return f"""\
drop function if exists kairos.run_{name};
create function kairos.run_{name}({parameters}) returns table ({columns}) language plpgsql as $statement$
#variable_conflict use_column
begin
return query
{statements("kairos")[name].rstrip()};
end
$statement$;
"""
