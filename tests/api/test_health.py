"""What watches the service: is it alive, can it work, what is it."""

from __future__ import annotations

import httpx2


async def test_a_service_that_can_work_says_so(http: httpx2.AsyncClient) -> None:
    alive, ready = await http.get("/healthz"), await http.get("/readyz")
    assert (alive.status_code, alive.json()["status"]) == (200, "ok")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")


async def test_it_tells_its_versions(http: httpx2.AsyncClient) -> None:
    answer = (await http.get("/api/version")).json()
    assert set(answer) == {"requestId", "version"}
    assert set(answer["version"]) == {"kairos", "schema", "api"}
