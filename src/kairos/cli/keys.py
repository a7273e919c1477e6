"""`kairos keys …`: manage the API keys of the service, directly in the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from kairos import shapes
from kairos.app import SyncKairos
from kairos.cli import output, parse
from kairos.cli.database_option import Json, on_database
from kairos.durations import duration
from kairos.operations import keys as operations
from kairos.shapes.key import Key

app = typer.Typer(help="Make keys for the service, list them, revoke them.")


@app.command("ls")
@on_database
def list_keys(kairos: SyncKairos, as_json: Json = False) -> None:
    """List all keys, revoked ones too, newest first."""
    found: list[Key] = kairos.run(operations.keys(limit=1000))
    output.listing(
        as_json,
        ("keys", map(shapes.document, found)),
        ("id", "name", "scopes", "created", "last used", "ends"),
        (
            (key.id, key.name, ", ".join(key.scopes), output.ago(key.created_at), _used(key), _end(key))
            for key in found
        ),
        "No keys: `kairos serve` is open to this machine, and refuses to be reached by others.",
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
        str | None, typer.Option(metavar="TIME", help="How long the key is valid.", show_default="for ever")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create a key and print it once; only its hash is stored."""
    length: timedelta | None = (
        None if expires_in is None else duration(parse.length(expires_in), "--expires-in")
    )
    key, token = kairos.run(operations.add_key(name, scope, expires_in=length, actor="cli"))
    if as_json:
        output.document({"key": {**shapes.document(key), "secret": token}})
    else:
        output.say(f"Key {key.id} ({', '.join(key.scopes)}) for {key.name}, shown this once:\n")
        output.say(token)


@app.command()
@on_database
def revoke(
    kairos: SyncKairos,
    key: Annotated[
        str, typer.Argument(metavar="ID", show_default=False, help="The key's id, as `ls` shows it.")
    ],
    as_json: Json = False,
) -> None:
    """Revoke a key permanently; running services refuse it within seconds."""
    revoked = kairos.run(operations.revoke_key(key))
    output.result(
        as_json, {"key": shapes.document(revoked)}, f"Key {revoked.id} ({revoked.name}) is revoked."
    )


def _used(key: Key) -> str:
    return output.ago(key.last_used_at) or "never"


def _end(key: Key) -> str:
    if key.revoked_at is not None:
        return f"revoked {output.ago(key.revoked_at)}"
    return f"expires {output.ago(key.expires_at)}" if key.expires_at is not None else ""
