"""The lock files pin what pyproject.toml asks for, each package by the hashes of its files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {"run": ("server", "embedded"), "dev": ("server", "embedded", "dev")}
UPDATE = "run requirements/update and commit what it writes"


def wanted(file: str) -> list[Requirement]:
    """What pyproject.toml asks for, without the project itself."""
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *(each for extra in EXTRAS[file] for each in extras[extra])]
    return [found for each in asked if (found := Requirement(each)).name != PROJECT["name"]]


def pinned(file: str) -> dict[str, list[tuple[Requirement, int]]]:
    """Every pin of a lock file by its name, with the number of its hashes."""
    text = (ROOT / "requirements" / f"{file}.lock").read_text().replace("\\\n", " ")
    found: dict[str, list[tuple[Requirement, int]]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            pin, *hashes = re.split(r"\s+--hash=sha256:", line.strip())
            requirement = Requirement(pin)
            found.setdefault(canonicalize_name(requirement.name), []).append((requirement, len(hashes)))
    return found


@pytest.mark.parametrize("file", EXTRAS)
def test_a_lock_file_has_a_fitting_version_of_everything_that_is_asked_for(file: str) -> None:
    pins = pinned(file)
    for requirement in wanted(file):
        found = pins.get(canonicalize_name(requirement.name))
        assert found, f"{requirement.name} is not in {file}.lock: {UPDATE}."
        for pin, _ in found:
            (exact,) = pin.specifier
            assert exact.operator == "==", pin
            fits = requirement.specifier.contains(Version(exact.version), prereleases=True)
            assert fits, f"{file}.lock has {pin}, and pyproject.toml asks for {requirement}: {UPDATE}."


@pytest.mark.parametrize("file", EXTRAS)
def test_every_pin_has_a_hash_and_none_names_where_it_comes_from(file: str) -> None:
    pins = pinned(file)
    assert [str(pin) for each in pins.values() for pin, hashes in each if not hashes] == []
    assert [str(pin) for each in pins.values() for pin, _ in each if pin.url] == []
    assert "://" not in (ROOT / "requirements" / f"{file}.lock").read_text()


def test_both_lock_files_pin_the_same_versions() -> None:
    # The systems on which a package is installed may differ: what only developers need may need it on more of them.
    run, dev = pinned("run"), pinned("dev")
    assert {name: [str(pin.specifier) for pin, _ in run[name]] for name in run} == {
        name: [str(pin.specifier) for pin, _ in dev.get(name, [])] for name in run
    }
