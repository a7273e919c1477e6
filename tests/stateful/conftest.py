from __future__ import annotations

from tests.emptied import database, kept_database, quiet

__all__ = ["database", "kept_database", "quiet"]
