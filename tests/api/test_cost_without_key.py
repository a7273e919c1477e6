"""What callers without a key may ask for costs the service little, however many ask."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from tests.api.service_process import Served

from kairos import serializers
from kairos.api.routes import meta
from kairos.errors import DatabaseUnavailable


async def test_requests_for_readiness_share_one_check_of_the_database(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0
    check = served.kairos.store.check

    async def counted() -> None:
        nonlocal made
        made += 1
        await check()

    monkeypatch.setattr(served.kairos.store, "check", counted)
    monkeypatch.setattr("kairos.api.readiness.FRESH", 60.0)
    answers = await asyncio.gather(*(served.http.get("/readyz") for _ in range(40)))
    assert {answer.status_code for answer in answers} == {200}
    assert made == 1


async def test_a_service_that_was_not_ready_is_asked_again_at_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = served.kairos.store.check

    async def away() -> None:
        raise DatabaseUnavailable("The database is away: start it.")

    monkeypatch.setattr(served.kairos.store, "check", away)
    assert (await served.http.get("/readyz")).status_code == 503
    monkeypatch.setattr(served.kairos.store, "check", check)
    assert (await served.http.get("/readyz")).status_code == 200


async def test_versions_and_the_api_document_are_read_and_encoded_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()

    def counted(name, called):  # type: ignore[no-untyped-def]
        def call(*given, **named):  # type: ignore[no-untyped-def]
            calls[name] += 1
            return called(*given, **named)

        return call

    first = [(await served.http.get(path)).json() for path in ("/api/version", "/openapi.json")]
    monkeypatch.setattr(meta, "version", counted("version", meta.version))
    monkeypatch.setattr(serializers, "encode", counted("encode", serializers.encode))
    again = [(await served.http.get(path)).json() for path in ("/api/version", "/openapi.json")]
    assert (again[0]["version"], again[1]) == (first[0]["version"], first[1])
    assert calls == {"encode": 1}  # of the versions, in their envelope
