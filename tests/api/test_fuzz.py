"""Whatever can be said in HTTP is answered as the OpenAPI document says: no 5xx, nothing wrong let in."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api.service_process import Shared, shared

from kairos import Kairos
from kairos.api import ServiceSettings, build
from kairos.api.app import Service

# Streams do not end by themselves, and a session would take the place of the key.
NOT_HERE = r"(/events|/wait|/session)$"
# What is right by the schema may still be refused: an unknown action, a sentence that is no intent.
NOT_TRUE = "positive_data_acceptance,object_level_authorization"


@pytest.fixture(scope="module")
def service(shared_database: str) -> Iterator[Shared]:
    def make(kairos: Kairos) -> Service:
        @kairos.job(redact=["token"])
        async def resize(image: int, token: str = "") -> int:
            return image

        return build(kairos, ServiceSettings(rate=1e6, burst=1_000_000))

    with shared(shared_database, make) as running:
        yield running


@pytest.mark.parametrize("phase", ["coverage", "fuzzing"])
def test_nothing_that_can_be_sent_breaks_the_service(service: Shared, tmp_path: Path, phase: str) -> None:
    headers = service.as_key(service.keys("admin"))
    for image in range(20):
        made = service.http.post(
            "/api/jobs", headers=headers, json={"action": "resize", "input": {"image": image}}
        )
        assert made.status_code == 202, made.text
    assert service.http.get(
        "/openapi.json", timeout=120
    ).is_success  # made once: schemathesis waits for 10 s only
    run = subprocess.run(
        [
            Path(sys.executable).with_name("st"),
            "run",
            f"{service.url}/openapi.json",
            *("--header", f"Authorization: {headers['Authorization']}"),
            *("--phases", phase, "--checks", "all", "--exclude-checks", NOT_TRUE),
            *("--exclude-path-regex", NOT_HERE, "--max-examples", "4", "--seed", "7"),
            *(
                "--generation-allow-x00",
                "true",
                "--request-timeout",
                "60",
                "--continue-on-failure",
                "--no-shrink",
                "--no-color",
            ),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20_000:]
    assert re.search(r"\b[1-9][0-9]* generated", run.stdout)
    assert service.http.get("/readyz").status_code == 200
