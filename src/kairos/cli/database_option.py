"""The options `--database-url` and `--data`, and the decorators for commands that use a database."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, get_type_hints

import typer

from kairos.app import SyncKairos
from kairos.config import Settings, has_database, load
from kairos.errors import ConfigError
from kairos.machine.registry import Registry

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        metavar="URL",
        help="Postgres to work on; KAIROS_DATABASE_URL says the same.",
        show_default="the embedded one",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Folder of the embedded Postgres.", show_default=".kairos"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]


@dataclass(frozen=True, slots=True)
class DatabaseChoice:
    """The database options of a command; without them the app, the environment or `kairos.toml` decides."""

    database_url: str | None = None
    data: Path | None = None

    def overridden_by(self, database_url: str | None, data: Path | None) -> DatabaseChoice:
        """Return these options, overridden by those given after the subcommand."""
        database = self
        if database_url is not None:
            database = replace(database, database_url=database_url)
        if data is not None:
            database = replace(database, data=data)
        if database.database_url is not None and database.data is not None:
            raise ConfigError("--database-url and --data name two databases: give one of them.")
        return database

    def settings(self) -> Settings:
        """Return the settings of a command that loads no app."""
        self.export()
        settings = load({})
        self.check(settings, "kairos.toml or KAIROS_DATABASE_URL")
        return settings

    def export(self) -> None:
        """Set environment variables, so that the app loaded next and child processes use the same database."""
        if self.database_url is not None:
            # Raises here for a malformed URL, and not while the app is loaded.
            Settings(database_url=self.database_url)
            os.environ["KAIROS_DATABASE_URL"] = self.database_url
        if self.data is not None:
            os.environ["KAIROS_DATA"] = str(self.data.resolve())

    def check(self, settings: Settings, who: str) -> None:
        """Raise if an option would have no effect because `who` names another database."""
        if self.database_url is not None and settings.database_url != self.database_url:
            raise ConfigError(f"{who} names its own database, so --database-url would have no effect.")
        if self.data is not None and (
            settings.database_url is not None or settings.data.resolve() != self.data.resolve()
        ):
            raise ConfigError(f"{who} names its own database, so --data would have no effect.")


def on_database(command: Callable[Concatenate[SyncKairos, ...], None]) -> Callable[..., None]:
    """Give a command the database options, and an open client as its first argument."""

    @wraps(command)
    def run(database: DatabaseChoice, **values: Any) -> None:
        with connect(database.settings()) as kairos:
            command(kairos, **values)

    return with_database(run)


def with_database(command: Callable[Concatenate[DatabaseChoice, ...], None]) -> Callable[..., None]:
    """Give a command the database options, and what they choose as its first argument."""

    @wraps(command)
    def run(ctx: typer.Context, database_url: str | None, data: Path | None, **values: Any) -> None:
        command(ctx.obj.overridden_by(database_url, data), **values)

    # The signature that typer reads: the command's own parameters but the first, and those of `_database_parameters`.
    parameters = [
        each.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for function in (command, _database_parameters)
        for hints in [get_type_hints(function, include_extras=True)]
        for name, each in list(inspect.signature(function).parameters.items())[function is command :]
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _database_parameters(ctx: typer.Context, database_url: DatabaseUrl = None, data: Data = None) -> None:
    """The parameters that `with_database` adds."""


def connect(settings: Settings, registry: Registry | None = None) -> SyncKairos:
    """Return an open client. It uses an existing embedded Postgres, but never creates one."""
    if settings.database_url is None and not has_database(settings.data):
        raise ConfigError(
            f"There is no database in {settings.data.resolve()}: run `kairos dev` here first, "
            "or name one with --data or --database-url."
        )
    return client(settings, registry)


def client(settings: Settings, registry: Registry | None = None) -> SyncKairos:
    """Return a client that is not open yet and knows the machines of `registry`."""
    kairos = SyncKairos(settings.database_url, **settings.others)
    if registry is not None:
        kairos.registry = registry
    return kairos
