from __future__ import annotations

from tests.shared_database import database, kept_database, quiet

__all__ = ["database", "kept_database", "quiet"]
