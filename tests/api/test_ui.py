"""The dashboard's files: a small export, served as Next.js writes it."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from starlette.applications import Starlette
from tests.api.service_process import Shared, shared

from kairos import Kairos
from kairos.api import ServiceSettings, build

SCRIPT = "self.__next_f.push([1,'x'])"
PAGE = (
    f'<html><script src="/_next/static/a.js"></script><script>{SCRIPT}</script><script id="y">two()</script>'
)


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("outside")
    (root / "secret.txt").write_text("secret")
    folder = root / "ui"
    for name, content in {
        "index.html": PAGE,
        "404.html": "<html>nothing here",
        "job/index.html": "<html>a job",
        "jobs/index.html": "<html>jobs",
        "_next/static/a.js": "console.log(1);" * 200,
        "_next/static/font.woff2": "font",
        "favicon.ico": "icon",
        "index.txt": "payload",
        "odd.zzz": "odd",
    }.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    (folder / "linked.txt").symlink_to(root / "secret.txt")
    return folder


@pytest.fixture(scope="module")
def service(shared_database: str, export: Path) -> Iterator[Shared]:
    with shared(
        shared_database, lambda kairos: build(kairos, ServiceSettings(open=True), dashboard=export)
    ) as running:
        yield running


def script_hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}'"


def test_a_page_may_run_its_own_inline_scripts_by_their_hashes_and_no_others(service: Shared) -> None:
    response = service.http.get("/")
    assert (response.status_code, response.text) == (200, PAGE)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    (scripts,) = re.findall(r"script-src ([^;]*);", response.headers["Content-Security-Policy"])
    assert sorted(scripts.split()) == sorted(["'self'", script_hash(SCRIPT), script_hash("two()")])
    other = service.http.get("/jobs/").headers["Content-Security-Policy"]
    assert "script-src 'self';" in other


@pytest.mark.parametrize(
    ("path", "kind", "keep"),
    [
        ("/", "text/html; charset=utf-8", "no-cache"),
        ("/job/?id=7", "text/html; charset=utf-8", "no-cache"),
        ("/_next/static/a.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
        ("/_next/static/font.woff2", "font/woff2", "public, max-age=31536000, immutable"),
        ("/index.txt", "text/plain; charset=utf-8", "no-cache"),
        ("/odd.zzz", "application/octet-stream", "no-cache"),
    ],
)
def test_a_file_has_its_type_and_is_kept_as_long_as_its_name_allows(
    service: Shared, path: str, kind: str, keep: str
) -> None:
    headers = service.http.get(path).headers
    assert (headers["Content-Type"], headers["Cache-Control"]) == (kind, keep)
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Request-Id"]


def test_a_file_that_is_known_is_not_sent_again_and_a_long_one_is_sent_small(service: Shared) -> None:
    first = service.http.get("/_next/static/a.js", headers={"Accept-Encoding": "gzip"})
    assert first.headers["Content-Encoding"] == "gzip" and len(first.content) == 3000
    plain = service.http.get("/_next/static/a.js", headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers and plain.content == first.content
    again = service.http.get("/_next/static/a.js", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert gzip.decompress(gzip.compress(first.content)) == plain.content


def test_a_jobs_own_address_leads_to_its_page(service: Shared) -> None:
    for path in ("/jobs/42", "/jobs/42/"):
        response = service.http.get(path)
        assert (response.status_code, response.headers["Location"]) == (307, "/job/?id=42")
    assert service.http.get("/jobs/x").status_code == 404


def test_a_page_without_its_slash_leads_to_it_with_its_question(service: Shared) -> None:
    response = service.http.get("/jobs?state=failed")
    assert (response.status_code, response.headers["Location"]) == (308, "/jobs/?state=failed")


@pytest.mark.parametrize("path", ["/nothing", "/nothing/", "/jobs/x/y", "/index.html", "/linked.txt"])
def test_an_unknown_page_gives_the_exports_own(service: Shared, path: str) -> None:
    response = service.http.get(path)
    assert (response.status_code, response.text) == (404, "<html>nothing here")


@pytest.mark.parametrize("path", ["/api", "/api/nothing", "/metrics/x", "/healthz/x"])
def test_programs_get_the_envelope_and_no_page(service: Shared, path: str) -> None:
    response = service.http.get(path)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    "path",
    ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/_next/../../secret.txt", "/%2fetc/passwd",
     "//etc/passwd", "/_next/static/..%5c..%5csecret.txt", "/index.txt%00", "/./index.html", "/_next/static/"],
)  # fmt: skip
def test_no_path_leads_out_of_the_export(service: Shared, path: str) -> None:
    import socket

    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400")), answer
    assert b"secret" not in answer.partition(b"\r\n\r\n")[2] and b"root:" not in answer


def test_pages_are_only_for_reading(service: Shared) -> None:
    response = service.http.post("/jobs/", json={})
    assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")
    assert service.http.head("/").status_code == 200


def test_without_an_export_there_is_only_the_service(shared_database: str, tmp_path: Path) -> None:
    with shared(
        shared_database, lambda kairos: build(kairos, ServiceSettings(open=True), dashboard=tmp_path)
    ) as running:
        assert running.http.get("/").json()["error"]["code"] == "NOT_FOUND"
        assert running.http.get("/healthz").status_code == 200


MOUNTED = (
    '<html><head>{}</head><script src="{}/_next/static/b.js"></script><script>load("{}/_next/a.js")</script>'
)


@pytest.mark.parametrize("root", ["", "/kairos", "/a/b c"])
async def test_a_dashboard_is_written_for_the_place_where_its_service_is_mounted(
    shared_database: str, tmp_path: Path, root: str
) -> None:
    (tmp_path / "_next" / "static").mkdir(parents=True)
    (tmp_path / "index.html").write_text(MOUNTED.format("", "", ""))
    (tmp_path / "_next" / "static" / "b.js").write_text('load("/_next/c.js")')
    outer = Starlette()
    outer.mount(root or "/", build(Kairos(shared_database), ServiceSettings(open=True), dashboard=tmp_path))
    base = quote(root)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(outer), base_url="http://localhost") as http:
        page = await http.get(f"{base}/")
        meta = f'<meta name="kairos-base" content="{base}">' if base else ""
        assert page.text == MOUNTED.format(meta, base, base)
        assert script_hash(f'load("{base}/_next/a.js")') in page.headers["Content-Security-Policy"]
        script = await http.get(f"{base}/_next/static/b.js")
        assert script.text == f'load("{base}/_next/c.js")'
        assert page.headers["ETag"] != script.headers["ETag"]


@pytest.mark.parametrize("root", ["", "/kairos"])
async def test_everything_that_a_page_of_the_dashboard_loads_is_there_wherever_it_is_mounted(
    shared_database: str, root: str
) -> None:
    outer = Starlette()
    outer.mount(root or "/", build(Kairos(shared_database), ServiceSettings(open=True)))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(outer), base_url="http://localhost") as http:
        page = (await http.get(f"{root}/jobs/")).text
        assets = {each for each in re.findall(r'(?:src|href)="([^"]+)"', page) if "/_next/" in each}
        assert len(assets) > 5
        assert {each: (await http.get(each)).status_code for each in assets} == dict.fromkeys(assets, 200)
        # The code reads the prefix from this element, for its links and its requests (dashboard/lib/base-path.ts).
        assert re.findall(r'<meta name="kairos-base" content="([^"]*)"', page) == ([root] if root else [])
