"""Settings: defaults, then `kairos.toml`, then the environment, then arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kairos import Kairos
from kairos.config import Settings, load
from kairos.errors import ConfigError


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("DATABASE_URL", "SCHEMA", "POOL_SIZE", "PREPARE", "DATA", "DIRECT_URL"):
        monkeypatch.delenv(f"KAIROS_{name}", raising=False)


def test_without_anything_there_are_defaults() -> None:
    assert load({}) == Settings()
    assert (Settings().database_url, Settings().schema) == (None, "kairos")


def test_the_file_is_over_the_defaults_the_environment_over_the_file_and_arguments_over_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kairos.toml").write_text('schema = "file"\npool_size = 3\nprepare = false\ndata = "d"\n')
    monkeypatch.setenv("KAIROS_SCHEMA", "environment")
    monkeypatch.setenv("KAIROS_POOL_SIZE", "4")
    found = load({"schema": "argument", "database_url": None})
    assert found == Settings(schema="argument", pool_size=4, prepare=False, data=Path("d"))


@pytest.mark.parametrize("name", ["kairos", "_", "a" * 63, "k2"])
def test_a_schema_name_needs_no_quoting(name: str) -> None:
    assert Settings(schema=name).schema == name


@pytest.mark.parametrize(
    "settings",
    [
        {"schema": ""},
        {"schema": "a" * 64},
        {"schema": "Kairos"},
        {"schema": "a; drop"},
        {"schema": "2k"},
        {"schema": "a.b"},
        {"schema": "k\n"},
        {"schema": 5},
        {"pool_size": 1},
        {"pool_size": "many"},
        {"pool_size": []},
        {"prepare": "perhaps"},
        {"colour": "red"},
    ],
    ids=lambda given: str(given)[:40],
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        Kairos("postgresql://nowhere/", **settings)
    assert next(iter(settings)) in refused.value.message


@pytest.mark.parametrize(
    ("written", "wanted"), [("true", True), ("1", True), ("False", False), ("0", False), (True, True)]
)
def test_prepare_is_true_or_false(written: Any, wanted: bool) -> None:
    assert load({"prepare": written}).prepare is wanted


@pytest.mark.parametrize(
    ("content", "said"), [("schema = ", "not valid TOML"), ('scheme = "x"', "unknown setting 'scheme'")]
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "kairos.toml").write_text(content)
    with pytest.raises(ConfigError, match=said):
        load({})
