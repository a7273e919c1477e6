"""`kairos keys …`: who may use the service, straight from the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from kairos import documents
from kairos.app import SyncKairos
from kairos.cli import reading, tables
from kairos.cli.place import Json, on_database
from kairos.durations import duration
from kairos.verbs import keys as verbs
from kairos.verbs.keys import Key

app = typer.Typer(help="Make keys for the service, list them, revoke them.")


@app.command("ls")
@on_database
def list_keys(kairos: SyncKairos, as_json: Json = False) -> None:
    """List every key there ever was, newest first."""
    found: list[Key] = kairos.run(verbs.keys(limit=1000))
    if as_json:
        tables.document({"keys": [documents.key(key) for key in found]})
    elif not found:
        tables.say("No keys: `kairos serve` is open to this machine, and refuses to be reached by others.")
    else:
        tables.show(
            ("id", "name", "scopes", "created", "last used", "ends"),
            [
                (key.id, key.name, ", ".join(key.scopes), tables.ago(key.created_at), _used(key), _end(key))
                for key in found
            ],
        )


@app.command()
@on_database
def add(
    kairos: SyncKairos,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Who or what will use it.")],
    scope: Annotated[
        list[str],
        typer.Option(
            "--scope", metavar="SCOPE", help="read, enqueue, operate or admin; may be given several times."
        ),
    ],
    expires_in: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long it is good for.", show_default="for ever")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a key, and print it: this once, since only a hash of it is kept."""
    length: timedelta | None = (
        None if expires_in is None else duration(reading.length(expires_in), "--expires-in")
    )
    key, token = kairos.run(verbs.add_key(name, scope, expires_in=length, actor="cli"))
    if as_json:
        tables.document({"key": {**documents.key(key), "secret": token}})
    else:
        tables.say(f"Key {key.id} ({', '.join(key.scopes)}) for {key.name}, shown this once:\n")
        tables.say(token)


@app.command()
@on_database
def revoke(
    kairos: SyncKairos,
    key: Annotated[
        str, typer.Argument(metavar="ID", show_default=False, help="The key's id, as `ls` shows it.")
    ],
    as_json: Json = False,
) -> None:
    """Revoke a key for good; services that know it stop taking it within seconds."""
    revoked = kairos.run(verbs.revoke_key(key))
    if as_json:
        tables.document({"key": documents.key(revoked)})
    else:
        tables.say(f"Key {revoked.id} ({revoked.name}) is revoked.")


def _used(key: Key) -> str:
    return tables.ago(key.last_used_at) or "never"


def _end(key: Key) -> str:
    if key.revoked_at is not None:
        return f"revoked {tables.ago(key.revoked_at)}"
    return f"expires {tables.ago(key.expires_at)}" if key.expires_at is not None else ""
