"""The schedule of a run: each of its ticks must make one job."""

from __future__ import annotations

import asyncio
import time

from kairos import Kairos

TICK = 2  # seconds between two ticks


async def add(app: Kairos) -> int:
    """Add a schedule that catches up with every tick; return its first tick in microseconds."""
    await app.schedules.add(
        "often", f"every {TICK} seconds", app.action("tick").call(), catch_up="all", overlap="allow"
    )
    ticks = (await app.schedules.get("often")).next_ticks
    return int(ticks[0].timestamp() * 1_000_000)


async def pause(app: Kairos) -> int:
    """Wait until the schedule has caught up with now, and pause it; return now in microseconds."""
    deadline = time.monotonic() + 60
    async with app.store.connection() as connection:
        now = await connection.fetchval("select kairos.now()")
        while time.monotonic() < deadline:
            if await connection.fetchval("select cursor_at >= $1 from kairos.schedules", now):
                break
            await asyncio.sleep(0.1)
    await app.schedules.pause("often")
    return int(now.timestamp() * 1_000_000)
