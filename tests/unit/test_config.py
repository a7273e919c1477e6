"""Settings: defaults, then `kairos.toml`, then the environment, then arguments."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from kairos import Kairos
from kairos.api.settings import ServiceSettings, load_service
from kairos.config import BUILT_IN, Settings, load
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


@pytest.mark.parametrize(
    ("name", "meant"),
    [("KAIROS_DATABSE_URL", "KAIROS_DATABASE_URL"), ("KAIROS_POOLSIZE", "KAIROS_POOL_SIZE")],
)
def test_a_misspelled_variable_is_refused_with_the_one_that_was_meant(
    name: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(ConfigError, match=f"^The environment has {name}, .* Did you mean '{meant}'\\?$"):
        Kairos()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KAIROS_PORT", "tcp://10.0.0.7:8765"),
        ("KAIROS_SERVICE_HOST", "10.0.0.7"),
        ("KAIROS_DB_SERVICE_PORT_PSQL", "5432"),
        ("KAIROS_DB_PORT_5432_TCP_ADDR", "10.0.0.7"),
    ],
)
def test_what_kubernetes_sets_for_a_service_called_kairos_is_no_mistake(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert load({}) == Settings()
    assert load_service() == ServiceSettings()


def test_every_variable_of_the_service_is_known_to_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in sorted(
        {each.name for each in fields(ServiceSettings)} - {"open", "session_idle", "session_age"}
    ):
        monkeypatch.setenv(f"KAIROS_{name.upper()}", "1")
    assert load({}) == Settings()


def test_a_misspelled_argument_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"no setting 'pool_sise'\. Did you mean 'pool_size'\?$"):
        Kairos(pool_sise=3)


def test_the_embedded_database_is_found_in_the_folders_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".kairos" / "postgres").mkdir(parents=True)
    (tmp_path / "src" / "shop").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "src" / "shop")
    assert load({}).data == tmp_path / ".kairos"
    (tmp_path / "src" / ".kairos" / "postgres").mkdir(parents=True)
    assert load({}).data == tmp_path / "src" / ".kairos"
    assert load({"data": "own"}).data == Path("own")


def test_every_built_in_action_has_a_machine_of_its_own() -> None:
    app = Kairos("postgresql://nowhere", actions=BUILT_IN)
    assert set(BUILT_IN) <= {machine.name for machine in app.registry}
