"""`/docs`: the documentation, where the package has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api.service_process import Shared, shared

from kairos.api import ServiceSettings, build


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "learn").mkdir()
    (folder / "index.html").write_text("<html><script>start()</script>the start")
    (folder / "learn" / "retries.html").write_text("<html>retries")
    (folder / "404.html").write_text("<html>no such page")
    return folder


@pytest.fixture(scope="module")
def service(shared_database: str, site: Path) -> Iterator[Shared]:
    with shared(
        shared_database, lambda kairos: build(kairos, ServiceSettings(open=True), site=site)
    ) as running:
        yield running


def test_the_documentation_is_served_below_docs_and_its_own_scripts_may_run(service: Shared) -> None:
    moved = service.http.get("/docs")
    assert (moved.status_code, moved.headers["Location"]) == (308, "/docs/")
    start = service.http.get("/docs/")
    assert (start.status_code, "the start" in start.text) == (200, True)
    assert "script-src 'self' 'sha256-" in start.headers["Content-Security-Policy"]
    assert service.http.get("/docs/learn/retries.html").text == "<html>retries"
    assert service.http.get("/docs/nothing.html").status_code == 404
    assert service.http.get("/docs/../../secret").status_code == 404


def test_without_a_built_site_the_path_is_the_dashboards(shared_database: str, tmp_path: Path) -> None:
    with shared(
        shared_database, lambda kairos: build(kairos, ServiceSettings(open=True), site=tmp_path)
    ) as running:
        assert running.http.get("/docs/").status_code == 404
