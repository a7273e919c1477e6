"""`kairos serve` and the service of `kairos dev`: real processes on real ports."""

from __future__ import annotations

import re
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from tests.cli.terminal import Process, Terminal, until

Start = Callable[..., Process]

ONE = (
    "from kairos import Kairos\napp = Kairos()\n@app.job\nasync def version() -> int:\n    return {number}\n"
)


def url_of(process: Process) -> str:
    process.says("serving")
    return re.findall(r"serving +.*?url=(http://\S+)", process.said)[-1].split("\x1b")[0]


def test_serve_answers_until_a_signal_and_says_that_access_is_open(start: Start, database: str) -> None:
    process = start("serve", "--port", 0, KAIROS_DATABASE_URL=database)
    url = url_of(process)
    assert url.startswith("http://127.0.0.1:")
    assert "access is open" in process.said
    assert httpx2.get(f"{url}/readyz").status_code == 200
    assert httpx2.get(f"{url}/api/session").json()["session"]["open"] is True
    process.signal(signal.SIGTERM)
    assert process.end() == 0
    assert "Traceback" not in process.said


def test_serve_ends_in_good_order_while_a_stream_is_open(start: Start, database: str) -> None:
    process = start("serve", "--port", 0, "--log-format", "json", KAIROS_DATABASE_URL=database)
    process.says('"serving"')
    url = re.findall(r'"url": "(http://[^"]+)"', process.said)[-1]
    with httpx2.stream("GET", f"{url}/api/events", timeout=60) as response:
        assert response.status_code == 200
        chunks = response.iter_raw()
        next(chunks)
        process.signal(signal.SIGINT)
        assert process.end() == 0
        list(chunks)  # it was ended, not cut


def test_a_second_signal_ends_serve_at_once(start: Start, database: str) -> None:
    process = start("serve", "--port", 0, KAIROS_DATABASE_URL=database)
    url = url_of(process)
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as half:
        half.sendall(
            b"POST /api/keys HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        process.signal(signal.SIGTERM)
        process.says("stopping")
        process.signal(signal.SIGTERM)
        assert process.end() == 130


def test_serve_knows_the_machines_of_the_app_it_is_given(start: Start, database: str, home: Path) -> None:
    (home / "served_app.py").write_text(ONE.format(number=1))
    process = start("serve", "served_app.py", "--port", 0, KAIROS_DATABASE_URL=database)
    url = url_of(process)
    assert [each["name"] for each in httpx2.get(f"{url}/api/machines").json()["machines"]] == ["version"]
    job = httpx2.post(f"{url}/api/jobs", json={"action": "version", "input": {}})
    assert job.status_code == 202, job.text
    process.signal(signal.SIGTERM)
    assert process.end() == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_others_can_reach_is_refused_without_keys(kairos: Terminal, host: str) -> None:
    said = kairos("serve", "--host", host, "--port", 0)
    assert said.code == 78
    assert "has no keys" in said.err and "kairos keys add" in said.err


def test_an_address_that_others_can_reach_needs_a_key_from_everybody(
    start: Start, kairos: Terminal, database: str
) -> None:
    token = kairos("keys", "add", "x", "--scope", "read", "--json").json["key"]["secret"]
    process = start("serve", "--host", "0.0.0.0", "--port", 0, KAIROS_DATABASE_URL=database)
    url = url_of(process)
    assert httpx2.get(f"{url}/api/session").status_code == 401
    assert httpx2.get(f"{url}/api/session", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert "access is open" not in process.said
    process.signal(signal.SIGTERM)
    assert process.end() == 0


def test_a_taken_port_is_told_before_anything_else(kairos: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = kairos("serve", "--port", taken.getsockname()[1])
    assert said.code == 78
    assert "cannot be used" in said.err and "--port" in said.err


def test_a_setting_that_makes_no_sense_is_refused(kairos: Terminal) -> None:
    kairos.environment["KAIROS_BODY_LIMIT"] = "much"
    said = kairos("serve", "--port", 0)
    assert (said.code, "body_limit is 'much'" in said.err) == (78, True)


def test_dev_prints_one_url_and_a_key_that_stays_and_serves_through_a_reload(
    start: Start, home: Path
) -> None:
    (home / "dev_served.py").write_text(ONE.format(number=1))
    process = start("dev", "dev_served.py")
    process.says("worker started")
    facts = dict(re.findall(r"^(dashboard|key) +(\S+)", process.said, re.MULTILINE))
    file = home / ".kairos" / "dev-key"
    assert file.read_text().strip() == facts["key"] and stat.S_IMODE(file.stat().st_mode) == 0o600
    with httpx2.Client(base_url=facts["dashboard"], timeout=60) as http:
        assert http.get("/api/session").status_code == 401
        http.headers["Authorization"] = f"Bearer {facts['key']}"
        assert http.get("/api/session").json()["session"]["name"] == "kairos dev"
        (home / "dev_served.py").write_text("def (\n")  # and nothing is refused while it is broken, nor after
        process.says("SyntaxError")
        assert http.get("/readyz").status_code == 200
        (home / "dev_served.py").write_text(ONE.format(number=2))
        process.says("worker started", times=2)
        job = http.post("/api/jobs", json={"action": "version", "input": {}}).json()["job"]
        assert until(lambda: http.get(f"/api/jobs/{job['id']}").json()["job"]["output"] == 2)
    process.signal(signal.SIGINT, group=True)
    assert process.end() == 0
    again = start("dev", "dev_served.py", "--no-reload")
    again.says(facts["key"])
    again.says("serving")
    again.signal(signal.SIGTERM)
    assert again.end() == 0


def test_dev_takes_the_next_port_unless_one_was_asked_for(start: Start, home: Path, database: str) -> None:
    (home / "dev_port.py").write_text(ONE.format(number=1))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = start("dev", "dev_port.py", "--port", port, KAIROS_DATABASE_URL=database)
        assert refused.end() == 78
        assert f"Port {port} on 127.0.0.1 cannot be used" in refused.said
        process = start("dev", "dev_port.py", KAIROS_PORT=str(port), KAIROS_DATABASE_URL=database)
        process.says("worker started")
        (url,) = re.findall(r"^dashboard +(\S+)", process.said, re.MULTILINE)
        assert int(url.rpartition(":")[2]) > port
        assert httpx2.get(f"{url}/api/session").json()["session"]["open"] is True
    process.signal(signal.SIGTERM)
    assert process.end() == 0
