"""Settings as one frozen value: defaults, then `kairos.toml`, then the environment, then arguments."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kairos.errors import ConfigError

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`database_url` None means the embedded Postgres in `data`.

    `name` tells the apps that share a database apart: a schedule that the app of this name declared once and
    declares no more is paused. Without a name nothing is, since it may be another app's.
    `direct_url` is for LISTEN where `database_url` leads through a pooler in transaction mode;
    `prepare` must be off there.
    """

    database_url: str | None = None
    direct_url: str | None = None
    schema: str = "kairos"
    name: str | None = None
    data: Path = Path(".kairos")
    prepare: bool = True
    pool_size: int = 10

    def __post_init__(self) -> None:
        if not isinstance(self.schema, str) or not _SCHEMA.fullmatch(self.schema):
            raise ConfigError(f"schema is {self.schema!r}; use lower-case letters, digits and underscores.")
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise ConfigError(f"name is {self.name!r}; it must be text, or left out.")
        if self.pool_size < 2:
            raise ConfigError(f"pool_size is {self.pool_size}; Kairos needs at least 2 connections.")

    @property
    def others(self) -> dict[str, Any]:
        """All but the URL: `Kairos(settings.database_url, **settings.others)` is an app with these settings."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name != "database_url"
        }


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
        case "prepare":
            if str(value).lower() not in ("true", "false", "1", "0"):
                raise ConfigError(f"prepare is {value!r}; it is true or false.")
            return str(value).lower() in ("true", "1")
        case _:
            return value


_NAMES = frozenset(field.name for field in fields(Settings))
