"""A redacted value stays hidden in the text of an error, wherever that is kept."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from tests.captured_logs import capture_logs
from tests.worker.world import ended, working

from kairos import Kairos, Stop
from kairos.machine.secrets import replace_secrets, secrets_of
from kairos.machine.step_log import trace_of

SECRET = "sk-live-4711"
PEM = "-----BEGIN KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\n-----END KEY-----\n"
QUOTED = "S3cr\u00e9t-\"q'uote\\<&token/Zx9+/=="


async def test_an_error_that_quotes_a_redacted_value_is_kept_without_it(app: Kairos) -> None:
    @app.job(redact=["token", "card.number"])
    async def pay(token: str, card: dict[str, Any]) -> None:
        raise ValueError(f"{token} was refused for {card['number']}")

    with capture_logs() as said:
        async with working(app):
            job = await pay.enqueue(token=SECRET, card={"number": 4111_1111, "owner": "Ann"})
            job = await ended(app, job.id)
    assert job.error == "ValueError: [redacted] was refused for [redacted]"
    kept = [job.error, *map(repr, await app.history(job.id)), *map(repr, await app.logs(job.id)), repr(said)]
    assert not [text for text in kept if SECRET in text or "41111111" in text]
    assert any("was refused" in text for text in kept[2:])


async def test_the_reason_of_a_step_that_stops_its_job_is_kept_without_it(app: Kairos) -> None:
    @app.job(redact=["token"])
    async def pay(token: str) -> Any:
        return Stop(f"{token} was refused")

    await nothing_kept(app, pay, token=SECRET)


async def test_an_argument_that_a_job_no_longer_takes_is_refused_without_it(app: Kairos) -> None:
    """The error of the worker's declaration quotes what it refuses."""

    @app.job(redact=["token"])
    async def pay(token: str) -> None: ...

    async with Kairos(app.database_url) as newer:

        @newer.job(name=pay.name, redact=["token"])
        async def charge(token: int) -> None: ...

        await nothing_kept(app, pay, newer, token=SECRET)


async def nothing_kept(app: Kairos, action: Any, runs: Kairos | None = None, /, **arguments: Any) -> None:
    """The job fails with an error, and neither it nor any log has the secret."""
    with capture_logs() as said:
        async with app, working(runs or app):
            job = await ended(app, (await action.enqueue(**arguments)).id)
            assert job.state == "failed" and job.error is not None
            kept = [job.error, *map(repr, await app.history(job.id)), *map(repr, await app.logs(job.id))]
    assert any(line["event"] == "step failed" for line in said)
    assert not [text for text in (*kept, *map(repr, said)) if SECRET in text]


async def test_a_key_of_several_lines_is_hidden_where_an_error_quotes_it(app: Kairos) -> None:
    @app.job(redact=["token"])
    async def sign(token: str) -> None:
        raise ValueError(f"no key: {token!r}")

    with capture_logs() as said:
        async with working(app):
            job = await ended(app, (await sign.enqueue(token=PEM)).id)
    assert job.error == "ValueError: no key: '[redacted]'"
    kept = [*map(repr, await app.history(job.id)), *map(repr, await app.logs(job.id)), repr(said)]
    assert not [text for text in kept if "MIIE" in text or "Bgkq" in text]


async def test_an_error_in_handle_is_kept_without_it_too(app: Kairos) -> None:
    def handle(error: Exception, ctx: Any) -> Any:
        raise RuntimeError(f"no answer to {error}")

    @app.job(redact=["token"], retry=handle)
    async def pay(token: str) -> None:
        raise ValueError(token)

    async with working(app):
        job = await ended(app, (await pay.enqueue(token=SECRET)).id)
    assert job.error == "RuntimeError: no answer to [redacted]"


@pytest.mark.parametrize(
    ("state", "fields", "found"),
    [
        ('{"a": "secret"}', ["a"], ["secret"]),
        ('{"a": "abc"}', ["a"], []),
        ('{"a": {"b": "secret", "c": [12345, true, null]}}', ["a"], ["secret", "12345"]),
        ('{"a": [{"b": "first"}, {"b": "second"}]}', ["a.b"], ["second", "first"]),
        ('{"a": "secret"}', [], []),
        ('"plain"', ["a"], []),
    ],
)
def test_the_values_of_redacted_fields_are_found_at_any_depth(
    state: str, fields: list[str], found: list[str]
) -> None:
    assert secrets_of(state, fields) == found


def test_the_longest_secret_is_replaced_first() -> None:
    assert replace_secrets("secret-key and secret", ["secret-key", "secret"]) == "[redacted] and [redacted]"


def as_key_error(text: str) -> str:
    return str(KeyError(f'it\'s "{text}"'))


@pytest.mark.parametrize("secret", [PEM, QUOTED, "it's-a-secret", 'a "b" secret', "back\\slash\\"])
@pytest.mark.parametrize(
    "written",
    [
        str,
        repr,
        ascii,
        lambda text: repr(text.encode()),
        lambda text: repr({"token": text}),
        lambda text: repr(ValueError(repr(text))),
        as_key_error,
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: json.dumps({"body": json.dumps({"token": text})}),
        lambda text: json.dumps(text).replace("/", "\\/"),
        quote,
        quote_plus,
        lambda text: quote(text, safe=""),
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    ],
)
def test_a_secret_is_hidden_however_it_is_escaped_or_encoded(
    secret: str, written: Callable[[str], str]
) -> None:
    shown = replace_secrets(written(secret), [secret])
    assert shown.count("[redacted]") == 1
    assert len(shown) <= len(written("")) + len("[redacted]") + 3  # at most the escapes of other quotes


@pytest.mark.parametrize("user", ["", "a", "ab", "abc"])
def test_the_password_of_an_authorization_header_is_hidden(user: str) -> None:
    header = base64.b64encode(f"{user}:{SECRET}".encode()).decode()
    shown = replace_secrets(f"Basic {header} was refused", [SECRET])
    assert "[redacted]" in shown
    left = shown.replace("[redacted]", "").removeprefix("Basic ").removesuffix(" was refused")
    assert len(left) <= len(user) * 2 + 7


def test_each_line_of_a_secret_is_hidden_by_itself() -> None:
    text = f"line 2 is {PEM.splitlines()[1]!r} and begins with MII"
    assert replace_secrets(text, [PEM]) == "line 2 is '[redacted]' and begins with MII"
    assert replace_secrets("short and other", ["short\nlines of it"]) == "short and other"


def test_a_secret_is_hidden_before_a_long_traceback_is_cut() -> None:
    try:
        raise ValueError(f"{SECRET}{'.' * 7990}")
    except ValueError as error:
        shown = trace_of(error, lambda text: replace_secrets(text, [SECRET])) or ""
    assert shown.startswith("… ")
    assert SECRET[-6:] not in shown
