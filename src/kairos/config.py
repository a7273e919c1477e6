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
from urllib.parse import urlsplit

from kairos import defaults
from kairos.durations import duration
from kairos.errors import BadRequest, ConfigError
from kairos.suggest import did_you_mean

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_URL = re.compile(r"postgres(?:ql)?(\+\w+)?://")
_KEYWORDS = re.compile(r"\s*\w+\s*=")  # "host=… user=…", which psycopg reads, and asyncpg refuses
# The built-in machines; each is off until `actions` names it.
BUILT_IN = ("http", "command")
_DAY = timedelta(days=1)
_DATA = Path(".kairos")
_PREFIX = "KAIROS_"
_KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)(_\w+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of an app.

    - `database_url`: None means the embedded Postgres in `data`, which must exist unless `embedded` is true.
    - `direct_url`: for LISTEN and migrations, if `database_url` leads through a pooler; `prepare` must be off there.
    - `name`: of the app, if several share a database. A schedule that the app no longer declares is paused; without a
      name only a schedule of an earlier version of the same program is, since another may belong to another app.
    - `require_standby`: work only on a server whose commits wait for a synchronous standby.
    - `actions`: the built-in actions that are enabled. `http_allow` lists the hosts that `http` may call,
      `command_allow` the programs that `command` may run (each with the arguments it must begin with), `command_env`
      the variables that a job may set for them.
    - `holidays`: the days that "except holidays" leaves out, by the name of their calendar.
    - `alarm_after`: thresholds of alarms that differ from the defaults.
    - `webhook_allow`: private addresses and networks that webhooks may be sent to, besides all public ones.
    - `audit_retention`: how long the audit log is kept. A migration stores it, so that only a role that may migrate can
      shorten it; None keeps the stored value. `inbox_signals` and `inbox_bytes`, the limits of a job's inbox, likewise.
    - `runtime_role`: the role that workers and the service run as, if another one migrates: a migration grants it what
      it needs.
    - `ray_address`, `dask_address`: the clusters of steps with `runs_in="ray"` and `"dask"`; "local" starts one here.
    """

    database_url: str | None = None
    direct_url: str | None = None
    schema: str = "kairos"
    name: str | None = None
    data: Path = _DATA
    embedded: bool = False
    prepare: bool = True
    require_standby: bool = False
    pool_size: int = defaults.POOL_SIZE
    actions: tuple[str, ...] = ()
    http_allow: tuple[str, ...] = ()
    command_allow: tuple[tuple[str, ...], ...] = ()
    command_env: tuple[str, ...] = ()
    holidays: Mapping[str, frozenset[date]] = field(default_factory=dict)
    alarm_after: Mapping[str, Any] | str | None = None
    webhook_allow: tuple[str, ...] = ()
    audit_retention: timedelta | None = None
    inbox_signals: int | None = None
    inbox_bytes: int | None = None
    runtime_role: str | None = None
    ray_address: str | None = None
    dask_address: str | None = None

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
        for name in ("database_url", "direct_url"):
            _check_url(name, getattr(self, name))
        for name in ("inbox_signals", "inbox_bytes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 2**31:
                raise ConfigError(f"{name} is {value}; it must be positive, and less than 2 147 483 648.")
        if self.runtime_role is not None and (not self.runtime_role or "\0" in self.runtime_role):
            raise ConfigError(
                f"runtime_role is {self.runtime_role!r}; it must be the name of a database role."
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


def _check_url(name: str, url: Any) -> None:
    """Refuse what drivers would refuse later, or take for a server on this machine."""
    if url is None or (isinstance(url, str) and _KEYWORDS.match(url)):
        return
    found = _URL.match(url) if isinstance(url, str) else None
    if found is None:
        raise ConfigError(  # the URL is not shown: it may hold a password
            f"The {name.removesuffix('_url')} URL is not understood: write postgresql://user:password@host:5432/name, "
            "with special characters percent-encoded."
        )
    if driver := found[1]:
        named = found[0].removesuffix("://")
        raise ConfigError(f"{name} names a driver, {named}, as SQLAlchemy does: leave out {driver}.")


def load(arguments: Mapping[str, Any]) -> Settings:
    """Read the settings from all sources; arguments that are None are ignored.

    Without a `data` folder, the embedded database of this folder or of the nearest one above it is used.
    """
    here = Path.cwd()
    found: dict[str, Any] = {}
    found.update(_from_file(here / "kairos.toml"))
    found.update(_from_environment(os.environ))
    given = {name: value for name, value in arguments.items() if value is not None}
    if unknown := set(given) - _NAMES:
        raise ConfigError(f"There is no setting {min(unknown)!r}.{did_you_mean(min(unknown), _NAMES)}")
    if "data" in given:
        given.setdefault("embedded", True)  # a folder named in code means the embedded database
    found.update(given)
    if "data" not in found and (nearest := find_embedded(here)) is not None:
        found["data"] = nearest
    return Settings(**{name: _cast(name, value) for name, value in found.items()})


def find_embedded(folder: Path) -> Path | None:
    """Return the data folder of the embedded database in `folder` or the nearest folder above it, if there is one.

    As in git, only a folder that belongs to the same user is used: every user can make one in /tmp.
    """
    if has_database(folder / _DATA):
        return _DATA  # as it would be written
    for each in folder.parents:
        if has_database(each / _DATA) and each.stat().st_uid == folder.stat().st_uid:
            return each / _DATA
    return None


def has_database(data: Path) -> bool:
    """Whether an embedded database was made in this data folder."""
    return (data / "postgres").is_dir()


def shown_url(url: str) -> str:
    """Return a database URL without its password, to be printed."""
    password = urlsplit(url).password
    return url if not password else url.replace(f":{password}@", ":***@", 1)


def _from_file(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path.name} is not valid TOML: {error}.") from error
    if unknown := set(content) - _NAMES:
        raise ConfigError(
            f"{path.name} has the unknown setting {min(unknown)!r}.{did_you_mean(min(unknown), _NAMES)}"
        )
    return content


def _from_environment(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Read what is set; a misspelled name is refused, since the setting it meant would be left out."""
    for key in sorted(environment):
        if key.startswith(_PREFIX) and key not in _VARIABLES and not _from_kubernetes(key, environment[key]):
            raise ConfigError(
                f"The environment has {key}, which is no setting of Kairos.{did_you_mean(key, _VARIABLES)}"
            )
    return {name: environment[key] for name in _NAMES if (key := f"KAIROS_{name.upper()}") in environment}


def _from_kubernetes(name: str, value: str) -> bool:
    """Whether Kubernetes set the variable: it does so for each service, and one may be called kairos-…."""
    return value.startswith(("tcp://", "udp://", "sctp://")) or bool(_KUBERNETES.search(name))


def _cast(name: str, value: Any) -> Any:
    match name:
        case "data":
            return Path(value)
        case "pool_size" | "inbox_signals" | "inbox_bytes":
            try:
                return int(value)
            except (TypeError, ValueError) as error:
                raise ConfigError(f"{name} is {value!r}; it must be a whole number.") from error
        case "prepare" | "require_standby" | "embedded":
            if str(value).lower() not in ("true", "false", "1", "0"):
                raise ConfigError(f"{name} is {value!r}; it is true or false.")
            return str(value).lower() in ("true", "1")
        case "actions" | "http_allow" | "command_env" | "webhook_allow":
            return _texts(name, value)
        case "command_allow":
            return tuple(
                tuple(shlex.split(each)) if isinstance(each, str) else _texts(name, each)
                for each in (_split_list(value) if isinstance(value, str) else value)
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


def _split_list(text: str) -> list[str]:
    """Split a comma-separated environment variable."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _texts(name: str, value: Any) -> tuple[str, ...]:
    found = _split_list(value) if isinstance(value, str) else value
    if not isinstance(found, Sequence) or not all(isinstance(each, str) for each in found):
        raise ConfigError(f"{name} is {value!r}; it must be a list of strings.")
    return tuple(found)


def _calendars(value: Any) -> Mapping[str, frozenset[date]]:
    """Read holidays by calendar name; an environment variable holds one JSON object."""
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
# Variables that other parts read: the service (kairos.api.settings), the command line, the embedded server, and the
# tests of Kairos itself.
_ELSEWHERE = (
    *("HOST", "PORT", "ALLOWED_HOSTS", "TRUSTED_PROXIES", "BODY_LIMIT", "RATE", "BURST", "LIMIT_CONCURRENCY"),
    *("PAGE_BYTES", "QUEUE_NAMES", "CONNECTIONS_PER_ADDRESS", "RECEIVE_TIMEOUT", "IDLE_TIMEOUT"),
    *("STREAMS", "STREAMS_PER_CALLER", "REPLICA_URL", "REPLICA_LAG"),
    *("APP", "POSTGRES_BIN", "TEST_DATABASE_URL", "EXPLORE", "STATEFUL_EXAMPLES"),
)
_VARIABLES = frozenset(_PREFIX + name.upper() for name in (*_NAMES, *_ELSEWHERE))
