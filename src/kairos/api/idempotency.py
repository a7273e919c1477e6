"""The Idempotency-Key header: run a request once, and repeat its response for the same key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import Header, Request
from starlette.responses import Response

from kairos import serializers
from kairos.api.responses import answer, caller_of, kairos_of
from kairos.operations import idempotency
from kairos.operations.idempotency import StoredResponse
from kairos.store.query import Operation

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[!-~]+$",
        description="The same key and body give the same answer for 24 hours, and the work is done once.",
    ),
]


async def once(
    request: Request, key: str | None, status: int, work: Callable[[], Operation[Mapping[str, Any]]]
) -> Response:
    """Run `work` and send its document, or send the stored response of the same request."""
    kairos = kairos_of(request)
    if key is None:
        return _answer(request, status, await kairos.run(work()))
    asked = idempotency.Request(caller_of(request).actor, key, await _fingerprint(request))

    def response() -> Operation[StoredResponse]:
        return StoredResponse(status, serializers.encode((yield from work())))

    found = await kairos.transact(lambda: idempotency.once(asked, response))
    headers = {"Idempotency-Replayed": "true"} if found.replayed else {}
    return _answer(request, found.status, json.loads(found.body), headers)


def _answer(
    request: Request, status: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Response:
    job = document.get("job")
    location = {"Location": f"{request.scope.get('root_path', '')}/api/jobs/{job['id']}"} if job else {}
    return answer(request, document, status, {**location, **(headers or {})})


async def _fingerprint(request: Request) -> bytes:
    """Return a hash of the method, the path and the body; whitespace and the order of keys do not change it."""
    body = await request.body()
    meant = json.dumps(json.loads(body), sort_keys=True) if body else ""
    return hashlib.sha256(f"{request.method} {request.url.path}\n{meant}".encode()).digest()
