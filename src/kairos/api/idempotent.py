"""The Idempotency-Key of a request: carried out once, and answered alike each time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import Header, Request
from starlette.responses import Response

from kairos import documents
from kairos.api.answer import answer, caller_of, kairos_of
from kairos.store.query import Verb
from kairos.verbs import idempotency
from kairos.verbs.idempotency import Kept

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
    request: Request, key: str | None, status: int, work: Callable[[], Verb[Mapping[str, Any]]]
) -> Response:
    """Answer with the document that `work` makes, or with what the same request was answered before."""
    kairos = kairos_of(request)
    if key is None:
        return _answer(request, status, await kairos.run(work()))
    asked = idempotency.Request(caller_of(request).actor, key, await _fingerprint(request))

    def kept() -> Verb[Kept]:
        return Kept(status, documents.encode((yield from work())))

    found = await kairos.transact(lambda: idempotency.once(asked, kept))
    headers = {"Idempotency-Replayed": "true"} if found.replayed else {}
    return _answer(request, found.status, json.loads(found.body), headers)


def _answer(
    request: Request, status: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Response:
    job = document.get("job")
    place = {"Location": f"{request.scope.get('root_path', '')}/api/jobs/{job['id']}"} if job else {}
    return answer(request, document, status, {**place, **(headers or {})})


async def _fingerprint(request: Request) -> bytes:
    """What tells one request from another: the method, the path, and the body however it is spaced."""
    body = await request.body()
    meant = json.dumps(json.loads(body), sort_keys=True) if body else ""
    return hashlib.sha256(f"{request.method} {request.url.path}\n{meant}".encode()).digest()
