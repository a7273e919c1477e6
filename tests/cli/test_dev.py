"""`kairos dev`: everything at once on an embedded Postgres, from the first start to Ctrl-C."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path

import httpx2
import psycopg
import pytest
from tests.cli.terminal import SHOP, Process, Terminal, children, until

from kairos.cli import dev
from kairos.embedded.account import choose_account
from kairos.embedded.processes import live_processes

Start = Callable[..., Process]

ONE = (
    "from kairos import Kairos\napp = Kairos()\n@app.job\nasync def version() -> int:\n    return {number}\n"
)


@pytest.fixture
def there(home: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """A second terminal in the same folder, which finds the same database by itself."""
    return Terminal(capsys, {})


def write(file: Path, number: int) -> None:
    """Save another version, in one move as editors do, with a time that no file system rounds to the old one."""
    beside = file.with_suffix(".new")
    beside.write_text(ONE.format(number=number))
    os.utime(beside, (number, number))
    beside.replace(file)


def servers(data: Path) -> list[int]:
    processes = live_processes(data / "postgres", choose_account())
    return [process.pid for process in processes if process.is_postmaster]


def output(there: Terminal, app: str, *call: str) -> object:
    """Enqueue a job, wait for it, and answer its output."""
    job = there("enqueue", app, *call, "--json").json["job"]
    return there("jobs", "wait", job["id"], "--timeout", "60s", "--json").json["job"]["output"]


def test_dev_runs_the_examples_and_says_what_runs_where_and_how_to_enqueue(
    start: Start, there: Terminal, home: Path
) -> None:
    (home / "examples").mkdir()
    (home / "examples" / "dev_shop.py").write_text(SHOP)
    process = start("dev")
    process.says("worker started")
    said = process.said
    assert "Kairos runs examples" in said
    assert "fail, greet, hold, nap, order, stick" in said and "default, orders, slow" in said
    url = next(line.split()[1] for line in said.splitlines() if line.startswith("database"))
    with psycopg.connect(url) as connection:
        assert connection.execute("select count(*) from kairos.gen_durable").fetchone() == (0,)
    hint = next(line for line in said.splitlines() if " enqueue " in line)
    assert there(*shlex.split(hint)[1:], "--json").json["job"]["input"]["name"] == "text"
    assert "Hello, text!" in there("jobs", "wait", 1, "--timeout", "60s").out
    process.signal(signal.SIGINT, group=True)  # as Ctrl-C in a terminal: to every process of the group
    assert process.end() == 0
    assert "Traceback" not in process.said
    assert servers(home / ".kairos") == []
    # With nothing running, a command starts the server for as long as it needs it.
    assert [job["state"] for job in there("jobs", "ls", "--json").json["jobs"]] == ["success"]
    assert servers(home / ".kairos") == []


def test_a_change_of_the_app_starts_a_fresh_worker_on_the_same_server(
    start: Start, there: Terminal, home: Path
) -> None:
    write(home / "dev_one.py", 1)
    process = start("dev", "dev_one.py", "--data", "elsewhere")
    process.says("worker started")
    assert f" jobs ls --data {home / 'elsewhere'}" in process.said
    there.environment["KAIROS_DATA"] = "elsewhere"
    assert output(there, "dev_one.py", "version") == 1
    server = servers(home / "elsewhere")
    write(home / "dev_one.py", 2)
    process.says("worker started", times=2)
    assert output(there, "dev_one.py", "version") == 2
    # What does not load is shown and waited out, also when the remedy is a file that was not there.
    (home / "dev_one.py").write_text("from dev_helper import app\n")
    process.says("No module named 'dev_helper'")
    write(home / "dev_helper.py", 3)
    process.says("worker started", times=3)
    assert output(there, "dev_one.py", "version") == 3
    assert servers(home / "elsewhere") == server
    (home / "dev_helper.py").write_text("def (\n")
    process.says("dev_one.py cannot be loaded: SyntaxError")
    process.signal(signal.SIGTERM)
    assert process.end() == 0


def test_postgres_is_brought_back_when_it_is_killed(start: Start, there: Terminal, home: Path) -> None:
    write(home / "dev_killed.py", 1)
    process = start("dev", "dev_killed.py", "--no-reload")
    process.says("worker started")
    assert all("child" not in Path(f"/proc/{pid}/cmdline").read_text() for pid in children(process.pid))
    (server,) = servers(home / ".kairos")
    os.kill(server, signal.SIGKILL)
    process.says("Postgres died and is started again")
    until(lambda: servers(home / ".kairos") not in ([], [server]), "a new server")
    assert output(there, "dev_killed.py", "version") == 1
    process.signal(signal.SIGTERM)
    assert process.end() == 0
    assert servers(home / ".kairos") == []


@pytest.mark.parametrize("reload", ["--reload", "--no-reload"])
def test_a_second_signal_ends_it_at_once_and_leaves_no_server_behind(
    start: Start, there: Terminal, home: Path, reload: str
) -> None:
    """As `timeout` sends them: one to the process, one to its group."""
    (home / "dev_twice.py").write_text(SHOP)
    process = start("dev", "dev_twice.py", reload)
    process.says("worker started")
    job = there("enqueue", "dev_twice.py", "nap", "seconds=3600", "--json").json["job"]["id"]
    until(lambda: there("jobs", "show", job, "--json").json["job"]["state"] == "running", "the job's start")
    process.signal(signal.SIGTERM)
    process.says("stopping: running steps may finish")
    process.signal(signal.SIGTERM, group=True)
    assert process.end() == 130
    until(lambda: servers(home / ".kairos") == [], "the server's end")


def test_the_port_is_held_by_the_service_and_its_supervisor_alone(start: Start, home: Path) -> None:
    """A keeper that hangs on after its worker would keep the next start from using the port."""
    write(home / "dev_port.py", 1)
    process = start("dev", "dev_port.py")
    process.says("worker started")
    (worker,) = [pid for pid in children(process.pid) if "worker_child" in command(pid)]
    (keeper,) = [pid for pid in children(worker) if "keeper.py" in command(pid)]
    listening = sockets(process.pid) & sockets(worker)
    assert listening
    assert not listening & sockets(keeper)


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def sockets(pid: int) -> set[str]:
    links = [each.readlink() for each in Path(f"/proc/{pid}/fd").iterdir()]
    return {str(link) for link in links if str(link).startswith("socket:")}


def test_a_worker_may_join_and_outlive_the_server_that_dev_started(
    start: Start, there: Terminal, home: Path
) -> None:
    write(home / "dev_joined.py", 1)
    first = start("dev", "dev_joined.py")
    first.says("worker started")
    second = start("worker", "dev_joined.py")
    second.says("worker started")
    first.signal(signal.SIGKILL)
    until(lambda: "the parent process is gone" in first.said, "the child's end")
    assert output(there, "dev_joined.py", "version") == 1
    second.signal(signal.SIGTERM)
    assert second.end() == 0
    until(lambda: servers(home / ".kairos") == [], "the server's end")


def test_dev_migrates_a_database_that_it_is_pointed_at(
    start: Start, there: Terminal, home: Path, database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("drop schema kairos cascade")
    write(home / "dev_url.py", 1)
    secret = database.replace("://kairos@", "://kairos:topsecret@")
    process = start("dev", "dev_url.py", "--database-url", secret)
    process.says("worker started")
    assert "topsecret" not in process.said
    there.environment["KAIROS_DATABASE_URL"] = database
    assert output(there, "dev_url.py", "version") == 1
    process.signal(signal.SIGTERM)
    assert process.end() == 0
    assert not (home / ".kairos").exists()


def test_dev_without_an_app_asks_for_one(
    there: Terminal, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev, "CHECKOUT", home)
    said = there("dev")
    assert (said.code, said.err.startswith("kairos: Name the app to run: ")) == (78, True)


@pytest.mark.parametrize("reload", ["--reload", "--no-reload"])
def test_a_drained_worker_leaves_the_service_running(
    start: Start, there: Terminal, home: Path, reload: str
) -> None:
    write(home / "one.py", 1)
    process = start("dev", "one.py", reload, "--port", "0")
    process.says("worker started")
    url = re.search(r"http://127\.0\.0\.1:\d+", process.said)
    key = re.search(r"kr_[\w-]+", process.said)
    assert url is not None and key is not None
    keyed = {"Authorization": f"Bearer {key[0]}"}
    with httpx2.Client(base_url=url[0], timeout=30, headers=keyed) as http:
        (worker,) = http.get("/api/workers").json()["workers"]
        assert http.post(f"/api/workers/{worker['id']}/drain", json={}).status_code == 202
        process.says("the worker was drained")
        assert http.get("/api/workers").json()["workers"] == []
        assert http.get("/healthz").status_code == 200
    process.signal(signal.SIGINT)
    assert process.end() == 0
