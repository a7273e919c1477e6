"""A call goes to the address that was checked, and to no other."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.actions.conftest import Canary, answer, listen

from kairos.actions import egress
from kairos.actions.egress import EgressPolicy, request
from kairos.errors import ConfigError, EgressFailed, EgressRefused

HERE = EgressPolicy(allow=("127.0.0.1",))
PUBLIC = "93.184.216.34"


class Names:
    """A resolver that answers each lookup of a name with the next of its answers."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def test_the_answer_is_status_headers_and_body(canary: Canary) -> None:
    response = await request("get", f"http://127.0.0.1:{canary.port}/a?b=c", timeout=5, policy=HERE)
    assert (response.status, response.body, response.truncated) == (200, b"hello", False)
    assert response.headers["content-type"] == "text/plain"
    assert canary.requests[0].startswith("GET /a?b=c HTTP/1.1\r\n")


async def test_a_private_address_is_refused_by_default_and_nothing_connects(canary: Canary) -> None:
    with pytest.raises(EgressRefused, match="no public address"):
        await request("GET", f"http://127.0.0.1:{canary.port}/", timeout=5)
    assert canary.requests == []


async def test_a_name_that_turns_private_after_the_check_is_not_followed(canary: Canary) -> None:
    """The name is looked up once: whoever asked again, our resolver or the system's, would come to the canary."""
    names = Names([PUBLIC], ["127.0.0.1"])
    with pytest.raises(EgressFailed):
        await request("GET", f"http://localhost:{canary.port}/", timeout=0.3, resolve=names)
    assert names.asked == ["localhost"]
    assert canary.requests == []


async def test_one_private_address_among_public_ones_refuses_the_name(canary: Canary) -> None:
    with pytest.raises(EgressRefused, match=r"127\.0\.0\.1"):
        await request(
            "GET", f"http://mixed.test:{canary.port}/", timeout=5, resolve=Names([PUBLIC, "127.0.0.1"])
        )
    assert canary.requests == []


async def test_the_server_is_told_the_name_though_the_address_is_pinned(canary: Canary) -> None:
    names = Names(["127.0.0.1"])
    await request("GET", f"http://name.test:{canary.port}/", timeout=5, policy=HERE, resolve=names)
    assert f"Host: name.test:{canary.port}\r\n" in canary.requests[0]


async def test_the_next_address_is_tried_when_one_does_not_answer(canary: Canary) -> None:
    policy = EgressPolicy(allow=("127.0.0.0/8", "::1"))
    names = Names(["::1", "127.0.0.1"])
    response = await request(
        "GET", f"http://two.test:{canary.port}/", timeout=5, policy=policy, resolve=names
    )
    assert response.status == 200


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "0",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "127.0.0.1.",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "169.254.169.254",
        "168.63.129.16",
        "100.64.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "224.0.0.1",
        "255.255.255.255",
        "0.0.0.0",
    ],
)
async def test_no_spelling_of_a_private_address_gets_through(canary: Canary, host: str) -> None:
    with pytest.raises((EgressRefused, EgressFailed)):
        await request("GET", f"http://{host}:{canary.port}/", timeout=2)
    assert canary.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "//@127.0.0.1/",
        "http:///path",
        "http://user:secret@example.com/",
        "http://example.com@127.0.0.1/",
        "http://example.com\\@127.0.0.1/",
        "http://exa mple.com/",
        "http://example.com/\r\nHost: other",
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "HTTP://",
        "",
    ],
)
async def test_what_is_no_plain_web_address_is_refused_before_any_lookup(url: str) -> None:
    names = Names([PUBLIC])
    with pytest.raises(EgressRefused):
        await request("GET", url, timeout=2, resolve=names)
    assert names.asked == []


@pytest.mark.parametrize("port", [22, 25, 110, 1023])
async def test_a_port_of_mail_or_shells_is_refused(port: int) -> None:
    with pytest.raises(EgressRefused, match="Port"):
        await request("GET", f"http://example.com:{port}/", timeout=2, resolve=Names([PUBLIC]))


def test_the_list_decides_by_name_network_and_port() -> None:
    policy = EgressPolicy(allow=("api.example.com", "*.example.org", "10.1.0.0/16", "mail.example.com:25"))
    assert policy.check("API.example.com.", 443, [PUBLIC])
    assert policy.check("a.b.example.org", 8080, [PUBLIC])
    assert policy.check("example.org", 80, [PUBLIC])
    assert policy.check("anything.internal", 443, ["10.1.2.3"])
    assert policy.check("mail.example.com", 25, [PUBLIC])
    for host, port, address in [
        ("example.com", 443, PUBLIC),
        ("evil-example.org", 443, PUBLIC),
        ("api.example.com.evil.test", 443, PUBLIC),
        ("api.example.com", 443, "10.2.0.1"),
        ("mail.example.com", 443, PUBLIC),
        ("api.example.com", 25, PUBLIC),
    ]:
        with pytest.raises(EgressRefused):
            policy.check(host, port, [address])


def test_metadata_is_opened_only_by_its_own_address() -> None:
    with pytest.raises(EgressRefused):
        EgressPolicy(allow=("169.254.0.0/16", "*")).check("metadata", 80, ["169.254.169.254"])
    assert EgressPolicy(allow=("169.254.169.254",)).check("metadata", 80, ["169.254.169.254"])


def test_an_empty_list_allows_nothing() -> None:
    with pytest.raises(EgressRefused, match="none"):
        EgressPolicy(allow=()).check("example.com", 443, [PUBLIC])


@pytest.mark.parametrize("pattern", ["http://example.com", "exa mple.com", "example.com:0", "*foo.com", ""])
def test_a_pattern_that_names_no_host_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError):
        EgressPolicy(allow=(pattern,))


async def test_a_redirect_is_an_answer_unless_the_policy_follows_it(canary: Canary) -> None:
    canary.answer = answer("302 Found", "Location: http://169.254.169.254/latest/")
    url = f"http://127.0.0.1:{canary.port}/"
    assert (await request("GET", url, timeout=5, policy=HERE)).status == 302
    with pytest.raises(EgressRefused, match=r"169\.254\.169\.254"):
        await request("GET", url, timeout=5, policy=EgressPolicy(allow=("127.0.0.1",), redirects=5))


async def test_a_redirect_to_a_private_host_is_refused_and_never_connected(canary: Canary) -> None:
    inner = Canary()
    server = await listen(inner)
    canary.answer = answer("302 Found", f"Location: http://localhost.test:{inner.port}/")
    policy = EgressPolicy(allow=(f"127.0.0.1:{canary.port}", "*"), redirects=5)

    async def names(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"] if host == "127.0.0.1" else ["127.0.0.2"]

    with pytest.raises(EgressRefused):
        await request("GET", f"http://127.0.0.1:{canary.port}/", timeout=5, policy=policy, resolve=names)
    assert inner.requests == []
    server.close()


async def test_an_endless_redirect_ends(canary: Canary) -> None:
    canary.answer = answer("302 Found", "Location: /again")
    with pytest.raises(EgressFailed, match="more than 3 times"):
        await request(
            "GET",
            f"http://127.0.0.1:{canary.port}/",
            timeout=5,
            policy=EgressPolicy(allow=("127.0.0.1",), redirects=3),
        )
    assert len(canary.requests) == 4


async def test_secrets_do_not_follow_a_redirect_to_another_origin(canary: Canary) -> None:
    other = Canary()
    server = await listen(other)
    canary.answer = answer("302 Found", f"Location: http://127.0.0.1:{other.port}/")
    await request(
        "POST",
        f"http://127.0.0.1:{canary.port}/",
        headers={"Authorization": "Bearer secret", "X-Api-Key": "secret", "Accept": "text/plain"},
        body=b"data",
        timeout=5,
        policy=EgressPolicy(allow=("127.0.0.1",), redirects=1),
    )
    assert "secret" in canary.requests[0] and "secret" not in other.requests[0]
    assert other.requests[0].startswith("GET / ") and "data" not in other.requests[0]
    assert "text/plain" in other.requests[0]
    server.close()


async def test_an_endless_answer_is_cut_and_said_to_be(canary: Canary) -> None:
    canary.answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 500_000
    response = await request(
        "GET",
        f"http://127.0.0.1:{canary.port}/",
        timeout=5,
        policy=EgressPolicy(allow=("127.0.0.1",), max_bytes=1000),
    )
    assert (len(response.body), response.truncated) == (1000, True)


async def test_a_server_that_never_answers_fails_in_the_time_given() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(EgressFailed, match=r"did not answer within 0\.2 s"):
        await request("GET", f"http://127.0.0.1:{port}/", timeout=0.2, policy=HERE)
    server.close()


async def test_a_proxy_of_the_environment_is_not_used(
    canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Canary()
    server = await listen(proxy)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    await request("GET", f"http://127.0.0.1:{canary.port}/", timeout=5, policy=HERE)
    assert len(canary.requests) == 1 and proxy.requests == []
    server.close()


@pytest.mark.parametrize(
    "headers", [{"Host": "internal"}, {"X": "a\r\nY: b"}, {"A b": "c"}, {"Content-Length": "1"}, {"X": "é"}]
)
async def test_a_header_that_could_change_the_request_is_refused(
    canary: Canary, headers: dict[str, str]
) -> None:
    with pytest.raises(EgressRefused, match="header"):
        await request("GET", f"http://127.0.0.1:{canary.port}/", headers=headers, timeout=5, policy=HERE)
    assert canary.requests == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
async def test_tls_proves_the_name_and_not_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=good.test"),
            *("-addext", "subjectAltName=DNS:good.test"),
        ],
        check=True,
        capture_output=True,
    )
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate, key)
    canary = Canary()
    server = await listen(canary, server_side)
    monkeypatch.setattr(egress, "tls_context", lambda: ssl.create_default_context(cafile=str(certificate)))
    names = Names(["127.0.0.1"])
    url = f"https://good.test:{canary.port}/"
    assert (await request("GET", url, timeout=5, policy=HERE, resolve=names)).status == 200
    with pytest.raises(EgressFailed, match=r"(?i)certificate"):
        await request("GET", url.replace("good", "other"), timeout=5, policy=HERE, resolve=names)
    server.close()
