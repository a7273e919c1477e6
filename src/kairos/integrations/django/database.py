"""The URL of a database that Django's settings describe."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from kairos.errors import ConfigError
from kairos.suggest import did_you_mean

# What Kairos reads from Django's settings.
_SETTINGS = ("KAIROS_APP", "KAIROS_DATABASE")

# Of Django's OPTIONS, those that are libpq's own.
_OF_LIBPQ = ("service", "sslmode", "sslrootcert", "sslcert", "sslkey", "target_session_attrs")


def check_settings() -> None:
    """Refuse a setting of Django that is meant for Kairos and that nobody reads, such as a misspelled one."""
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    for name in dir(settings):
        if name.startswith("KAIROS_") and name not in _SETTINGS:
            raise ImproperlyConfigured(
                f"Django's settings have {name}, which Kairos does not read there.{did_you_mean(name, _SETTINGS)} Its "
                "other settings are variables of the environment, kairos.toml or arguments of Kairos(…)."
            )


def database_url(alias: str = "default") -> str:
    """Return `settings.DATABASES[alias]` as a URL, so that jobs live beside the project's own tables."""
    from django.conf import settings

    if alias not in settings.DATABASES:
        raise ConfigError(f"DATABASES has no {alias!r}.{did_you_mean(alias, settings.DATABASES)}")
    return url_of(settings.DATABASES[alias], alias)


def url_of(database: dict[str, Any], alias: str = "default") -> str:
    """Return one entry of DATABASES as a URL."""
    if "postgresql" not in database["ENGINE"] and "postgis" not in database["ENGINE"]:
        raise ConfigError(f"DATABASES[{alias!r}] is {database['ENGINE']}: Kairos needs PostgreSQL.")
    user, password = (quote(str(database.get(name) or ""), safe="") for name in ("USER", "PASSWORD"))
    host, port = str(database.get("HOST") or ""), str(database.get("PORT") or "")
    options = {name: value for name, value in (database.get("OPTIONS") or {}).items() if name in _OF_LIBPQ}
    if host.startswith("/"):  # a socket's folder cannot stand in the host's place
        options["host"], host = host, ""
        options |= {"port": port} if port else {}
        port = ""
    who = user + (f":{password}" if password else "")
    place = (f"{who}@" if who else "") + host + (f":{port}" if port else "")
    query = f"?{urlencode(options)}" if options else ""
    return f"postgresql://{place}/{quote(str(database.get('NAME') or ''), safe='')}{query}"
