"""Quote literals and names for SQL that takes no parameters."""

from __future__ import annotations


def literal(text: str) -> str:
    """Quote a text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(text: str) -> str:
    """Quote a name."""
    return '"' + text.replace('"', '""') + '"'
