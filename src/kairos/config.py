"""Settings as one frozen value: defaults, then `kairos.toml`, then the environment, then arguments."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from kairos.durations import duration
from kairos.errors import BadRequest, ConfigError

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
# The machines that ship with Kairos; each is off until `actions` names it.
BUILT_IN = ("http", "command")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`database_url` None means the embedded Postgres in `data`.

    `name` tells the apps that share a database apart: a schedule that the app of this name declared once and
    declares no more is paused. Without a name nothing is, since it may be another app's.
    `direct_url` is for LISTEN where `database_url` leads through a pooler in transaction mode;
    `prepare` must be off there. With `require_standby` Kairos works only where each commit waits for a standby.
    `actions` are the built-in ones that are on: `http_allow` says which hosts the one may call, `command_allow`
    which programs the other may run (each with the arguments it must begin with) and `command_env` which variables a
    job may set for them. `alarm_after` changes from when on something is an alarm, `webhook_allow` names the private
    addresses and networks that webhooks may be sent to besides all public ones. `holidays` are the days that
    "except holidays" leaves out, by the name of their calendar. `audit_retention` is how long the audit log is kept:
    a migration puts it into the database, for whoever may not migrate may not shorten it; None leaves it as it is.
    """

    database_url: str | None = None
    direct_url: str | None = None
    schema: str = "kairos"
    name: str | None = None
    data: Path = Path(".kairos")
    prepare: bool = True
    require_standby: bool = False
    pool_size: int = 10
    actions: tuple[str, ...] = ()
    http_allow: tuple[str, ...] = ()
    command_allow: tuple[tuple[str, ...], ...] = ()
    command_env: tuple[str, ...] = ()
    holidays: Mapping[str, frozenset[date]] = field(default_factory=dict)
    alarm_after: Mapping[str, Any] | str | None = None
    webhook_allow: tuple[str, ...] = ()
    audit_retention: timedelta | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.schema, str) or not _SCHEMA.fullmatch(self.schema):
            raise ConfigError(f"schema is {self.schema!r}; use lower-case letters, digits and underscores.")
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise ConfigError(f"name is {self.name!r}; it must be text, or left out.")
        if self.pool_size < 2:
            raise ConfigError(f"pool_size is {self.pool_size}; Kairos needs at least 2 connections.")
        if unknown := set(self.actions) - set(BUILT_IN):
            raise ConfigError(f"actions has {min(unknown)!r}; it may have {', '.join(BUILT_IN)}.")
        if self.audit_retention is not None and self.audit_retention < _DAY:
            raise ConfigError(
                f"audit_retention is {self.audit_retention}; the audit log is kept for a day at least."
            )
        for argv in self.command_allow:
            if not argv or not argv[0].startswith("/"):
                raise ConfigError(f"command_allow has {shlex.join(argv)!r}; write the program's whole path.")
        for name in self.command_env:
            if not name or "=" in name or name.startswith("KAIROS_"):
                raise ConfigError(f"command_env has {name!r}, which is no variable a job may set.")

    @property
    def others(self) -> dict[str, Any]:
        """All but the URL: `Kairos(settings.database_url, **settings.others)` is an app with these settings."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "database_url"}


def load(arguments: Mapping[str, Any], *, folder: Path | None = None) -> Settings:
    """Read the settings from all their sources; arguments that are None do not count."""
    found: dict[str, Any] = {}
    found.update(_from_file((folder or Path.cwd()) / "kairos.toml"))
    found.update(_from_environment(os.environ))
    found.update({name: value for name, value in arguments.items() if value is not None})
    if unknown := set(found) - _NAMES:
        raise ConfigError(f"There is no setting {min(unknown)!r}; known: {', '.join(sorted(_NAMES))}.")
    return Settings(**{name: _cast(name, value) for name, value in found.items()})


def _from_file(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path.name} is not valid TOML: {error}.") from error
    if unknown := set(content) - _NAMES:
        raise ConfigError(
            f"{path.name} has the unknown setting {min(unknown)!r}; known: {', '.join(sorted(_NAMES))}."
        )
    return content


def _from_environment(environment: Mapping[str, str]) -> Mapping[str, Any]:
    return {name: environment[key] for name in _NAMES if (key := f"KAIROS_{name.upper()}") in environment}


def _cast(name: str, value: Any) -> Any:
    match name:
        case "data":
            return Path(value)
        case "pool_size":
            try:
                return int(value)
            except (TypeError, ValueError) as error:
                raise ConfigError(f"pool_size is {value!r}; it must be a whole number.") from error
        case "prepare" | "require_standby":
            if str(value).lower() not in ("true", "false", "1", "0"):
                raise ConfigError(f"{name} is {value!r}; it is true or false.")
            return str(value).lower() in ("true", "1")
        case "actions" | "http_allow" | "command_env" | "webhook_allow":
            return _texts(name, value)
        case "command_allow":
            return tuple(
                tuple(shlex.split(each)) if isinstance(each, str) else _texts(name, each)
                for each in (_words(value) if isinstance(value, str) else value)
            )
        case "holidays":
            return _calendars(value)
        case "audit_retention":
            try:
                return duration(value, name)
            except BadRequest as error:
                raise ConfigError(error.message) from error
        case _:
            return value


def _words(text: str) -> list[str]:
    """What a variable of the environment lists, parted by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _texts(name: str, value: Any) -> tuple[str, ...]:
    found = _words(value) if isinstance(value, str) else value
    if not isinstance(found, Sequence) or not all(isinstance(each, str) for each in found):
        raise ConfigError(f"{name} is {value!r}; it must be a list of texts.")
    return tuple(found)


def _calendars(value: Any) -> Mapping[str, frozenset[date]]:
    """Days by the name of their calendar; in the environment as one JSON object."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
        return {
            name: frozenset(day if isinstance(day, date) else date.fromisoformat(day) for day in days)
            for name, days in found.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError(
            f'holidays is {value!r}; give days by calendar, such as UK = ["2026-12-25", "2026-12-28"].'
        ) from error


_NAMES = frozenset(each.name for each in fields(Settings))
