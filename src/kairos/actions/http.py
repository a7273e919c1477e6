"""`http`: call a URL of the allow-list. The response is the job's result."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from kairos import json_codec
from kairos.actions import egress
from kairos.actions.egress import EgressPolicy, Response
from kairos.actions.shared_arguments import Attempts, Length, retry_by_attempts
from kairos.errors import BadRequest, BadValue, UnexpectedStatus
from kairos.machine.context import Context
from kairos.machine.definition import Machine
from kairos.machine.from_code import Declaration, read_function

Status = Annotated[int, Field(ge=100, le=599)]

# Response headers that are kept; cookies are secrets and are not.
_KEPT = frozenset(
    {
        "cache-control",
        "content-encoding",
        "content-language",
        "content-length",
        "content-type",
        "date",
        "etag",
    }
    | {"expires", "last-modified", "link", "location", "retry-after", "server", "x-request-id"}
)
# A result may be 1 MiB of JSON, in which one character may take six bytes.
_MOST_KEPT = 128 << 10


def machine(allow: Sequence[str]) -> Machine:
    """Build the machine for a worker that may call what `allow` lists."""
    policy = EgressPolicy(allow=tuple(allow), max_bytes=_MOST_KEPT)

    async def http(
        ctx: Context[Any],
        url: Annotated[str, AfterValidator(egress.check_url)],
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: str | None = None,
        json: Any = None,
        expect: Status | list[Status] | None = None,
        timeout: Length = "30s",
        redirects: Annotated[int, Field(ge=0, le=5)] = 0,
        attempts: Attempts = 5,
    ) -> dict[str, Any]:
        """Call a URL; any status but those expected (200 to 299, if none is named) is a failure."""
        if body is not None and json is not None:
            raise BadRequest("body and json both give the request's body: give one of them.", field="body")
        response = await egress.request(
            method,
            url,
            headers=_headers(ctx.id, headers or {}, json is not None),
            body=_body(body, json),
            timeout=timeout,
            policy=EgressPolicy(policy.allow, redirects, policy.max_bytes),
        )
        return _result(url, response, expect)

    return read_function(http, Declaration("http", redact=["headers"], retry=retry_by_attempts))


def _headers(job_id: int, given: dict[str, str], is_json: bool) -> dict[str, str]:
    """Return the given headers, with an Idempotency-Key that is the same for every attempt of a job."""
    own = {"User-Agent": f"kairos/{version('kairos-scheduler')}", "Idempotency-Key": f"kairos-{job_id}"}
    if is_json:
        own["Content-Type"] = "application/json"
    named = {name.lower() for name in given}
    return {**{name: value for name, value in own.items() if name.lower() not in named}, **given}


def _body(body: str | None, json: Any) -> bytes | None:
    if json is not None:
        return json_codec.dumps(json, "json").encode()
    return None if body is None else body.encode()


def _result(url: str, response: Response, expect: int | list[int] | None) -> dict[str, Any]:
    wanted = range(200, 300) if expect is None else [expect] if isinstance(expect, int) else expect
    if response.status not in wanted:
        named = "200 to 299" if expect is None else ", ".join(map(str, wanted))
        excerpt = json_codec.printable(response.body[:2000].decode("utf-8", "replace"), 500)
        raise UnexpectedStatus(
            f"{egress.host_of(url)} answered {response.status}, not {named}"
            + (f": {excerpt}" if excerpt else ".")
        )
    kept = {name: value for name, value in response.headers.items() if name.lower() in _KEPT}
    return {
        "status": response.status,
        "headers": {name: json_codec.printable(value) for name, value in kept.items()},
        **_content(response),
        "truncated": response.truncated,
    }


def _content(response: Response) -> dict[str, Any]:
    """Return the body as JSON if it is JSON, else as text, else as base64."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        text = response.body.decode()
        if "\x00" in text:
            raise UnicodeError
    except UnicodeError:
        return {"base64": base64.b64encode(response.body).decode()}
    if not response.truncated and (kind == "application/json" or kind.endswith("+json")):
        try:
            return {"json": json_codec.loads(text, "body")}
        except BadValue:
            pass  # not storable as JSON: keep it as text
    return {"body": text}
