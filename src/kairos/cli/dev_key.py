"""The API key of `kairos dev`, created at the first start and stored beside the embedded database."""

from __future__ import annotations

import os
from pathlib import Path

from kairos.cli.database_option import client
from kairos.config import Settings
from kairos.operations.keys import add_key, any_key, key_of

_FILE = "dev-key"


def dev_key(settings: Settings) -> str | None:
    """Return a key with all scopes for the embedded database; never creates one on a database given by URL."""
    with client(settings) as kairos:
        if settings.database_url is not None:
            return "one of those it has: `kairos keys ls`" if kairos.run(any_key()) else None
        file = settings.data / _FILE
        if file.is_file() and kairos.run(key_of(token := file.read_text().strip())) is not None:
            return token
        token = kairos.run(add_key("kairos dev", ["admin"], actor="cli"))[1]
        _write(file, token)
        return token


def _write(file: Path, token: str) -> None:
    """Write the file with mode 0600 from the start."""
    beside = file.with_name(f"{file.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(f"{token}\n")
    beside.replace(file)
