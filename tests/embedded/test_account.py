"""Who Postgres runs as."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.embedded.processes import FAST, User, postmaster, processes

import kairos
from kairos.embedded import Server, find_binaries
from kairos.embedded.account import choose_account
from kairos.embedded.binaries import SETTING
from kairos.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

root_only = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
NOBODY = pwd.getpwnam("nobody").pw_uid


@pytest.fixture
def no_namespaces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine on which unshare is blocked, as in most containers; returns where its programs are."""
    (tmp_path / "unshare").write_text("#!/bin/sh\necho unshare failed: Operation not permitted >&2\nexit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def as_user(uid: int) -> tuple[str, ...]:
    return ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--")


def python_for(uid: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """An interpreter that another user can run, with Kairos on its path; skip where there is none."""
    places = {str(Path(kairos.__file__).parent.parent), str(Path(psycopg.__file__).parent.parent)}
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    version = f"python3.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/local/bin/{version}", f"/usr/bin/{version}"):
        try:
            command = [*as_user(uid), python, "-c", "import kairos.embedded as e; e.find_binaries()"]
            subprocess.run(command, check=True, capture_output=True, cwd="/")
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    pytest.skip(f"no {version} here that uid {uid} may run together with this Kairos")


@root_only
def test_root_runs_it_in_a_user_namespace_and_the_files_stay_roots(data: Path) -> None:
    if choose_account().uid != 0:
        pytest.skip("user namespaces are blocked here")
    with Server(data, settings=FAST) as server, psycopg.connect(server.url()) as connection:
        connection.execute("create table made as select 1")
        assert {path.stat().st_uid for path in (data, *data.rglob("*"))} == {0}
        assert os.readlink(f"/proc/{postmaster(data)}/ns/user") != os.readlink("/proc/self/ns/user")  # noqa: PTH115


@root_only
@pytest.mark.usefixtures("no_namespaces")
def test_root_becomes_nobody_where_namespaces_are_blocked(empty: Path) -> None:
    with Server(empty, settings=FAST) as server, psycopg.connect(server.url()) as connection:
        connection.execute("select 1")
        assert (empty / "postgres").stat().st_uid == NOBODY
        assert Path(f"/proc/{postmaster(empty)}").stat().st_uid == NOBODY
    assert processes(empty) == []


@root_only
def test_programs_that_nobody_can_reach_are_copied_for_it(
    empty: Path, no_namespaces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = no_namespaces / "site"  # pytest's temporary directories are closed to others
    original = find_binaries()
    if not (original.parent / "share").is_dir():
        pytest.skip("the programs of this installation cannot be moved")
    package = original.parent.parent
    shutil.copytree(original.parent, hidden / package.name / original.parent.name)
    if (libraries := package.with_name(f"{package.name}.libs")).is_dir():
        shutil.copytree(libraries, hidden / libraries.name)
    monkeypatch.setenv(SETTING, str(hidden / original.relative_to(package.parent)))
    for _ in range(2):
        with Server(empty, settings=FAST) as server:
            assert server.is_alive()
            assert Path(f"/proc/{postmaster(empty)}/cmdline").read_text().startswith(f"{empty}/binaries")


@root_only
def test_a_directory_moves_between_the_two_ways_of_root(
    data: Path, no_namespaces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for blocked in (True, False, True):
        monkeypatch.setenv("PATH", os.environ["PATH"].removeprefix(f"{no_namespaces}:"))
        if blocked:
            monkeypatch.setenv("PATH", f"{no_namespaces}:{os.environ['PATH']}")
        with Server(data, settings=FAST) as server:
            assert server.is_alive()


@root_only
@pytest.mark.usefixtures("no_namespaces")
def test_a_directory_that_nobody_cannot_reach_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"may not write to .* choose a data directory"):
        Server(tmp_path / "data").start()


@root_only
def test_root_without_any_way_out_is_told_so(no_namespaces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(no_namespaces))
    with pytest.raises(
        ConfigError, match="runs as root, which Postgres refuses, and neither unshare nor setpriv"
    ):
        choose_account()


@root_only
def test_root_refuses_the_directory_of_an_ordinary_user(data: Path) -> None:
    os.chown(data / "postgres", 12345, 12345)
    with pytest.raises(ConfigError, match="belongs to uid 12345"):
        Server(data).start()


@root_only
def test_an_ordinary_user_needs_nothing_special(
    empty: Path, user: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    python = python_for(NOBODY, monkeypatch)
    os.chown(empty.parent, NOBODY, NOBODY)
    first = user(empty, prefix=as_user(NOBODY), python=python)
    url = first.url()
    second = user(empty, prefix=as_user(NOBODY), python=python)
    assert second.url() == url
    first.kill()
    psycopg.connect(url).close()
    assert (empty / "postgres").stat().st_uid == NOBODY
    second.leave()
    assert processes(empty) == []


@root_only
def test_a_user_that_passwd_does_not_know_still_gets_a_server(
    empty: Path, user: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    python = python_for(54321, monkeypatch)
    if subprocess.run(
        [*as_user(54321), "unshare", "--user", "true"], check=False, capture_output=True
    ).returncode:
        pytest.skip("user namespaces are closed to ordinary users here")
    os.chown(empty.parent, 54321, 54321)
    stranger = user(empty, prefix=as_user(54321), python=python)
    psycopg.connect(stranger.url()).close()
    stranger.leave()
    assert processes(empty) == []


@root_only
def test_an_ordinary_user_is_told_whose_directory_it_is(
    data: Path, user: Callable[..., User], monkeypatch: pytest.MonkeyPatch
) -> None:
    python = python_for(NOBODY, monkeypatch)
    data.chmod(0o755)
    said = user(data, prefix=as_user(NOBODY), python=python).fail()
    assert f"{data} belongs to uid 0: run Kairos as that user" in said
