"""The key of `kairos dev`: made at the first start, kept beside the embedded database, good for nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from kairos.cli.place import client
from kairos.config import Settings
from kairos.verbs.keys import add_key, any_key, holder

_FILE = "dev-key"


def dev_key(settings: Settings) -> str | None:
    """A key for everything on the embedded database; on somebody's own database none is made behind their back."""
    with client(settings) as kairos:
        if settings.database_url is not None:
            return "one of those it has: `kairos keys ls`" if kairos.run(any_key()) else None
        file = settings.data / _FILE
        if file.is_file() and kairos.run(holder(token := file.read_text().strip())) is not None:
            return token
        token = kairos.run(add_key("kairos dev", ["admin"], actor="cli"))[1]
        _write(file, token)
        return token


def _write(file: Path, token: str) -> None:
    """Put it where only this user can read it, from its first byte on."""
    beside = file.with_name(f"{file.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(f"{token}\n")
    beside.replace(file)
