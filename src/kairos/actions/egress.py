"""Outgoing HTTP calls with SSRF protection: resolve the host once, check every address, connect to a checked one."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import httpx2

from kairos.actions.dns_lookups import DnsLookups
from kairos.actions.egress_policy import EgressPolicy
from kairos.durations import Duration, duration
from kairos.errors import EgressFailed, EgressRefused

__all__ = ["EgressPolicy", "Response", "request", "webhook_lookup"]

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# Headers that we set ourselves, or that could make the checked host differ from the one that answers.
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "trailer"})
# Headers that are kept on a redirect to another origin; any other may be a secret.
_HARMLESS = frozenset({"accept", "accept-language", "content-type", "idempotency-key", "user-agent"})
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response; `truncated` means that `body` is only its first `max_bytes`."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    url: httpx2.URL
    headers: Mapping[str, str]
    body: bytes | None


lookup = DnsLookups(most=64)
# Apart from those of jobs, whose hosts callers choose: they must not keep alarms from being delivered.
webhook_lookup = DnsLookups(most=16)


async def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout: Duration = 30,
    policy: EgressPolicy = EgressPolicy(),  # noqa: B008 (frozen)
    resolve: Resolve = lookup,
) -> Response:
    """Make one call within `timeout`; raises `EgressRefused` if the policy forbids it, `EgressFailed` if it breaks."""
    call = _Call(method.upper(), _read(url), _checked(headers or {}), body)
    if call.method not in _METHODS:
        raise EgressRefused(
            f"method is {method!r}; it is one of {', '.join(sorted(_METHODS))}.", field="method"
        )
    limit = duration(timeout, "timeout").total_seconds()
    try:
        async with asyncio.timeout(limit):
            return await _follow(call, policy, resolve)
    except TimeoutError as error:
        raise EgressFailed(f"{call.url.host} did not answer within {limit:g} s.") from error


def check_url(url: str) -> str:
    """Return the URL, or raise if it could never be called."""
    _read(url)
    return url


def host_of(url: str) -> str:
    """Return the host of a URL, for messages that must not show its path and query."""
    return _read(url).host


async def _follow(call: _Call, policy: EgressPolicy, resolve: Resolve) -> Response:
    """Make the call and follow its redirects, checking each like the first."""
    hops = 0
    while True:
        response = await _send(call, policy, resolve)
        target = response.headers.get("location")
        if response.status not in _REDIRECTS or target is None or policy.redirects == 0:
            return response
        hops += 1
        if hops > policy.redirects:
            raise EgressFailed(f"{call.url.host} redirects more than {policy.redirects} times.")
        call = _redirected(call, response.status, target)


async def _send(call: _Call, policy: EgressPolicy, resolve: Resolve) -> Response:
    host, port = call.url.host, call.url.port or (443 if call.url.scheme == "https" else 80)
    addresses = policy.check(host, port, await resolve(host, port))
    transport = httpx2.AsyncHTTPTransport(verify=tls_context(), trust_env=False)
    async with httpx2.AsyncClient(transport=transport, trust_env=False, timeout=None) as client:
        for last, address in ((address is addresses[-1], address) for address in addresses):
            try:
                return await _at(client, call, address, policy.max_bytes)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                if last:
                    raise EgressFailed(f"{host} could not be reached: {_why(error)}.") from error
            except httpx2.HTTPError as error:
                raise EgressFailed(f"The call of {host} broke off: {_why(error)}.") from error
    raise AssertionError("a checked host has an address")


async def _at(client: httpx2.AsyncClient, call: _Call, address: str, most: int) -> Response:
    """Call one address; the Host header and TLS verification still use the original name."""
    request = client.build_request(
        call.method,
        call.url.copy_with(host=address),
        # No compression: a small answer must not unpack into a large one.
        headers={"Accept-Encoding": "identity", **call.headers, "Host": call.url.netloc.decode("ascii")},
        content=call.body,
        extensions={"sni_hostname": call.url.raw_host.decode("ascii").rstrip(".")},
    )
    response = await client.send(request, stream=True)
    body = bytearray()
    try:
        async for part in response.aiter_raw():
            body += part
            if len(body) > most:
                break
    finally:
        await response.aclose()
    return Response(
        response.status_code, dict(response.headers.items()), bytes(body[:most]), truncated=len(body) > most
    )


def _redirected(call: _Call, status: int, target: str) -> _Call:
    url = _read(str(call.url.join(target)))
    if call.url.scheme == "https" and url.scheme != "https":
        raise EgressRefused(f"{call.url.host} redirects from https to {url.scheme}.", field="url")
    turns = status == 303 or (status in (301, 302) and call.method == "POST")
    method = "GET" if turns and call.method != "HEAD" else call.method
    same = (call.url.scheme, call.url.host, call.url.port) == (url.scheme, url.host, url.port)
    headers = call.headers if same else {n: v for n, v in call.headers.items() if n.lower() in _HARMLESS}
    return _Call(method, url, headers, None if method != call.method else call.body)


def _read(text: str) -> httpx2.URL:
    """Parse a URL once, so that the check and the connection use the same parts."""
    if not isinstance(text, str) or any(not " " < letter < "\x7f" or letter == "\\" for letter in text):
        raise EgressRefused(f"url is {text!r}; write it in ASCII, without spaces.", field="url")
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError) as error:
        raise EgressRefused(f"url is {text!r}, which is no URL: {error}.", field="url") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise EgressRefused(
            f"url is {text!r}; it must begin with http:// or https:// and a host.", field="url"
        )
    if url.userinfo:
        raise EgressRefused("url holds a name or a password: give an Authorization header.", field="url")
    return url.copy_with(fragment=None)


def _checked(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in headers.items():
        if name.lower() in _OURS:
            raise EgressRefused(f"The header {name} is set by Kairos: leave it out.", field="headers")
        if not name or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise EgressRefused(f"headers has {name!r}, which is not the name of a header.", field="headers")
        if not value.isascii() or not value.isprintable():
            raise EgressRefused(f"The header {name} has a value that is not plain ASCII.", field="headers")
    return headers


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
