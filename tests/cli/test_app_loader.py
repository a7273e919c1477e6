"""Loading the app a person names: by module, by file, by folder; and clear words where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.terminal import Terminal

from kairos.cli.app_loader import load_app
from kairos.cli.database_option import DatabaseChoice

APP = "from kairos import Kairos\n{name} = Kairos({arguments})\n@{name}.job\ndef {job}(): ...\n"


def write(path: Path, name: str = "app", job: str = "work", arguments: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(APP.format(name=name, job=job, arguments=arguments))
    return path


def actions(kairos: Terminal, app: object, *options: object) -> list[str]:
    return [machine["name"] for machine in kairos(*options, "machines", app, "--json").json["machines"]]


def test_an_app_is_found_by_file_module_or_environment(kairos: Terminal, home: Path) -> None:
    write(home / "load_one.py", job="one")
    assert actions(kairos, "load_one.py") == actions(kairos, "load_one:app") == actions(kairos, "load_one")
    assert actions(kairos, home / "load_one.py:app") == ["one"]
    kairos.environment["KAIROS_APP"] = "load_one.py"
    assert "one" in kairos("machines").out


def test_the_only_app_of_a_file_needs_no_name(kairos: Terminal, home: Path) -> None:
    write(home / "load_named.py", name="jobs", job="one")
    assert actions(kairos, "load_named.py") == actions(kairos, "load_named.py:jobs") == ["one"]


def test_a_sync_app_is_an_app(kairos: Terminal, home: Path) -> None:
    file = write(home / "load_sync.py")
    file.write_text(file.read_text().replace("Kairos", "SyncKairos"))
    assert actions(kairos, "load_sync.py") == ["work"]


def test_a_file_in_a_package_may_import_its_neighbours(kairos: Terminal, home: Path) -> None:
    write(home / "load_package" / "inner" / "apps.py", job="neighbour")
    (home / "load_package" / "__init__.py").touch()
    (home / "load_package" / "inner" / "__init__.py").touch()
    (home / "load_package" / "main.py").write_text("from .inner.apps import app\n")
    assert (
        actions(kairos, "load_package/main.py") == actions(kairos, "load_package.main:app") == ["neighbour"]
    )


def test_a_folder_is_all_its_apps_together(kairos: Terminal, home: Path) -> None:
    write(home / "load_many" / "load_a.py", job="a")
    write(home / "load_many" / "load_b.py", job="b", name="other")
    (home / "load_many" / "load_c.py").write_text("x = 1\n")
    assert actions(kairos, "load_many") == actions(kairos, f"load_many{os.sep}") == ["a", "b"]
    write(home / "load_many" / "load_d.py", job="b")
    said = kairos("machines", "load_many")
    assert (said.code, "is registered twice" in said.err) == (64, True)


def test_the_actions_of_a_folder_keep_their_limits(
    home: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAIROS_DATABASE_URL", database)
    limited = write(home / "load_limited" / "load_limited_a.py")
    limited.write_text(limited.read_text().replace("@app.job", '@app.job(queue="mail", concurrency=3)'))
    write(home / "load_limited" / "load_limited_b.py", name="other", job="more")
    alone = load_app("load_limited/load_limited_a.py", DatabaseChoice())
    together = load_app("load_limited", DatabaseChoice())
    assert together.registry.limits == alone.registry.limits != {}


def test_a_file_may_import_a_module_beside_it(kairos: Terminal, home: Path) -> None:
    write(home / "beside" / "load_beside.py", job="beside")
    (home / "beside" / "load_main.py").write_text("from load_beside import app\n")
    assert actions(kairos, "beside/load_main.py") == ["beside"]


BROKEN = {
    "load_nothing.py": "",
    "load_text.py": "app = 'text'\n",
    "load_two.py": "from kairos import Kairos\none = Kairos()\ntwo = Kairos()\n",
    "load_syntax.py": "x = (\n",
    "load_fails.py": "def f():\n    raise RuntimeError('not today')\nf()\n",
    "load_exits.py": "import sys\nsys.exit(3)\n",
    "load_import.py": "import nonesuch_module\n",
    "load_wrong.py": "from kairos import Kairos\napp = Kairos()\n@app.machine('m')\nclass M: pass\n",
    "load_outer.py": "import load_wrong\n",
    "load_action.py": "from kairos import Kairos\napp = Kairos()\n@app.job\ndef act(): ...\n",
    "json.py": "",
}


@pytest.mark.parametrize(
    ("app", "sentence"),
    [
        ("load_absent.py", "There is no file load_absent.py."),
        ("absent/load.py:app", "There is no file absent/load.py."),
        ("absent/folder", "There is no file absent/folder."),
        (
            "load_absent:app",
            "There is no module 'load_absent' to load load_absent:app from, neither in this folder nor installed",
        ),
        (
            "load.absent",
            "There is no module 'load' to load load.absent from, neither in this folder nor installed",
        ),
        ("a b", "'a b' names no app: write module:app or path/to/file.py."),
        ("", "'' names no app: write module:app or path/to/file.py."),
        ("load_nothing.py", "load_nothing.py has no Kairos app: write `app = Kairos()` in it."),
        ("load_nothing.py:app", "load_nothing has no 'app'; its apps: none."),
        ("load_text:app", "load_text:app is a str, not a Kairos app."),
        ("load_two.py", "load_two.py has several apps (one, two): say which, as in load_two.py:one."),
        ("load_syntax.py", "load_syntax.py cannot be loaded: SyntaxError: '(' was never closed"),
        ("load_fails.py", "load_fails.py cannot be loaded: RuntimeError: not today"),
        ("load_exits.py", "load_exits.py cannot be loaded: SystemExit: 3"),
        ("load_import.py", "load_import.py cannot be loaded: ModuleNotFoundError: No module named 'nonesuch"),
        (
            "load_wrong.py",
            "load_wrong.py cannot be loaded (line 3): Machine 'm' has no steps: mark its methods",
        ),
        ("load_outer.py", "load_outer.py cannot be loaded (load_wrong.py, line 3): Machine 'm' has no steps"),
        ("load_action.py:act", "load_action.py:act is an Action, not a Kairos app."),
        ("json.py", "json.py is hidden by another module called 'json': rename it."),
        ("no_apps", "No file in no_apps has a Kairos app: write `app = Kairos()` in one."),
    ],
)
def test_an_app_that_cannot_be_had_is_refused_in_clear_words(
    kairos: Terminal, home: Path, app: str, sentence: str
) -> None:
    (home / "no_apps").mkdir()
    for name, text in BROKEN.items():
        (home / name).write_text(text)
    said = kairos("machines", app)
    assert (said.code, said.out) == (78, "")
    assert f"kairos: {sentence}" in said.err


def test_an_error_in_the_app_shows_the_way_to_it_and_nothing_of_ours(kairos: Terminal, home: Path) -> None:
    (home / "load_fails.py").write_text(BROKEN["load_fails.py"])
    said = kairos("machines", "load_fails.py").err
    assert "line 3, in <module>" in said and "line 2, in f" in said
    assert "importlib" not in said and "kairos/cli" not in said


def test_a_phrase_that_is_refused_is_shown_with_suggestions(kairos: Terminal, home: Path) -> None:
    (home / "load_phrase.py").write_text(
        "from kairos import Kairos\napp = Kairos()\n@app.schedule('every monday')\n@app.job\ndef f(): ...\n"
    )
    said = kairos("machines", "load_phrase.py").err
    assert "load_phrase.py cannot be loaded (line 3): At what time of day?\n  every monday\n" in said
    assert "try: every monday at 09:00" in said


def test_a_name_that_an_app_does_not_have_is_shown_without_the_code_of_kairos(
    kairos: Terminal, home: Path
) -> None:
    (home / "load_task.py").write_text("from kairos import Kairos\napp = Kairos()\n@app.task\ndef f(): ...\n")
    said = kairos("machines", "load_task.py").err
    assert "An app has no 'task': write @app.job." in said
    assert [line for line in said.splitlines() if line.startswith("  File ")] == [
        f'  File "{home / "load_task.py"}", line 3, in <module>'
    ]


def test_an_option_that_the_app_overrules_is_refused(kairos: Terminal, home: Path) -> None:
    write(home / "load_own.py", arguments="'postgresql://elsewhere/db'")
    assert actions(kairos, "load_own.py") == ["work"]  # the environment is overruled by the app, as in Python
    for option in (("--database-url", "postgresql://here/db"), ("--data", "here")):
        said = kairos("enqueue", "load_own.py", "work", *option)
        assert said.code == 78
        assert f"names its own database, so {option[0]} would have no effect." in said.err


def test_the_apps_of_a_folder_must_share_a_database(kairos: Terminal, home: Path) -> None:
    write(home / "load_apart" / "load_e.py", job="e")
    write(home / "load_apart" / "load_f.py", job="f", arguments="'postgresql://elsewhere/db'")
    said = kairos("machines", "load_apart")
    assert (said.code, "name different databases" in said.err) == (78, True)


def test_a_program_that_runs_when_it_is_imported_is_told_where_and_what_to_do(
    kairos: Terminal, home: Path
) -> None:
    file = write(home / "load_program.py")
    file.write_text(file.read_text() + "import asyncio\nasyncio.run(app.open())\n")
    for name in [name for name in kairos.environment if name.startswith("KAIROS_")]:
        del kairos.environment[name]
    said = kairos("dev", "load_program.py")
    assert said.code == 78
    assert (
        "load_program.py opens its app while it is imported, before there is a database (line 6)" in said.err
    )
    assert 'if __name__ == "__main__":' in said.err
