"""The tables of phrases and refusals, and the instant at which all of them are read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

NOW = datetime(2026, 1, 14, 10, 17, 23, tzinfo=UTC)  # a Wednesday
FOLDER = Path(__file__).parent


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of one table."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def instants(*texts: str) -> list[datetime]:
    return [instant(text) for text in texts]
