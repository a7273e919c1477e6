"""Quote literals and names for SQL that takes no parameters, and compute checksums of SQL text."""

from __future__ import annotations

import hashlib


def literal(text: str) -> str:
    """Quote a text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(text: str) -> str:
    """Quote a name."""
    return '"' + text.replace('"', '""') + '"'


def checksum(sql: str) -> str:
    """Return a digest that identifies the text of an applied statement."""
    return hashlib.sha256(sql.strip().encode()).hexdigest()
