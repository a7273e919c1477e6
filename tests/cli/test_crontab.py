"""`kairos import-crontab`: what cron runs, made to live in Kairos."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.terminal import Terminal

from kairos import SyncKairos
from kairos.actions.crontab import CronEnvironment, Entry, Refusal, read
from kairos.actions.shell_syntax import needs_shell

HERE = CronEnvironment(tz="UTC", home="/root", user="root")
CRONTAB = """\
# what runs at night
SHELL=/bin/bash
MAILTO=""

CRON_TZ=Europe/Berlin
*/5 * * * *   /bin/true --quiet
0 3 * * 1-5   /bin/echo "a  b" 'c$d'
@daily        /bin/cat%one%two 50\\% off
"""
ALLOW = (
    'actions = ["command"]\ncommand_allow = ["/bin/true", "/bin/echo", "/bin/cat", "/bin/sh", "/bin/bash"]\n'
)


def entries(text: str, **options: object) -> list[Entry | Refusal]:
    return list(read(text, HERE, **options))  # type: ignore[arg-type]


def entry(text: str, **options: object) -> Entry:
    (found,) = entries(text, **options)
    assert isinstance(found, Entry), found
    return found


def refusal(text: str, **options: object) -> str:
    (found,) = entries(text, **options)
    assert isinstance(found, Refusal), found
    return found.why


def test_each_line_becomes_its_sentence_its_zone_and_its_argv() -> None:
    found = [each for each in entries(CRONTAB) if isinstance(each, Entry)]
    assert [(each.plan.sentence, each.argv[1:]) for each in found] == [
        ("every 5 minutes (Europe/Berlin)", ("--quiet",)),
        ("every weekday at 03:00 (Europe/Berlin)", ("a  b", "c$d")),
        ("every day at 00:00 (Europe/Berlin)", ()),
    ]
    assert found[2].stdin == "one\ntwo 50% off\n"
    assert all(each.argv[0].startswith("/") for each in found)


def test_settings_hold_for_the_lines_below_them() -> None:
    first, second = entries("0 0 * * * /bin/true\nHOME=/tmp\nTARGET = 'a b'\n0 1 * * * /bin/true\n")
    assert isinstance(first, Entry) and isinstance(second, Entry)
    assert (first.cwd, dict(first.env)) == ("/root", {})
    assert (second.cwd, dict(second.env)) == ("/tmp", {"HOME": "/tmp", "TARGET": "a b"})


@pytest.mark.parametrize(
    ("command", "token"),
    [
        ("a | b", "| (a pipe)"),
        ("a && b", "&& ("),
        ("a > /dev/null 2>&1", "> (a redirection)"),
        ("a >> log", ">> (a redirection)"),
        ("a; b", "; (a second command)"),
        ("a $HOME", "$HOME (a variable)"),
        ('a "$HOME/x"', "$HOME (a variable)"),
        ("a $(date)", "$( (a variable)"),
        ("a `date`", "` ("),
        ("a *.log", "* (a pattern"),
        ("a ~/x", "~ (a home"),
        ("a & ", "& ("),
        ("FOO=1 a", "FOO=1 ("),
        ("cd /x", "cd (a word of the shell)"),
        ("a 'b", "a quote without"),
        ("a # b", "# (a comment)"),
    ],
)
def test_what_needs_a_shell_is_named(command: str, token: str) -> None:
    assert token in (needs_shell(command) or "")
    assert "--allow-shell" in refusal(f"0 0 * * * {command}")
    shown = entry(f"0 0 * * * {command}", allow_shell=True)
    assert shown.argv[-2:] == ("-c", command.strip())


@pytest.mark.parametrize(
    "command", ["a 'b|c' \"d>e\"", "a \\$HOME \\*", "a b#c x~y", "a --x=1", "a '$(x)'", "a b!"]
)
def test_what_is_only_quoted_needs_none(command: str) -> None:
    assert needs_shell(command) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("@reboot /bin/true", "no start of a machine"),
        ("61 * * * * /bin/true", "^^"),
        ("0 0 * * *", "neither a setting nor a line"),
        ("garbage", "neither a setting nor a line"),
        ("0 0 * * * nosuchprogram", "no program 'nosuchprogram'"),
        ("RANDOM_DELAY=5", "jitter"),
        ("0 0 31 2 * /bin/true", "never"),
        ("0 0 * * * root /bin/true", "no program 'root'"),
        ("-0 0 * * * /bin/true", "leading -"),
        ("0 0 * * * %only stdin", "no command"),
    ],
)
def test_what_cannot_be_held_is_refused_and_says_why(line: str, why: str) -> None:
    assert why in refusal(line)


def test_a_system_crontab_has_a_user_who_must_be_the_workers() -> None:
    assert entry("0 0 * * *\troot\t/bin/true x", with_user=True).argv[1:] == ("x",)
    assert "it runs as nobody" in refusal("0 0 * * * nobody /bin/true", with_user=True)


def test_a_name_follows_the_command_and_not_the_time() -> None:
    text = "0 1 * * * /bin/true\n0 2 * * * /bin/true\n0 3 * * * /bin/true x\n"
    moved = text.replace("0 1", "5 5")
    names = [each.name for each in entries(text) if isinstance(each, Entry)]
    assert names == [each.name for each in entries(moved) if isinstance(each, Entry)]
    assert (len(set(names)), names[1]) == (3, f"{names[0]}-2")


@pytest.fixture
def table(home: Path) -> Path:
    (home / "kairos.toml").write_text(ALLOW)
    file = home / "table"
    file.write_text(CRONTAB)
    return file


def test_nothing_is_changed_until_it_is_applied(kairos: Terminal, table: Path, client: SyncKairos) -> None:
    answer = kairos("import-crontab", table)
    assert (answer.code, "every weekday at 03:00" in answer.out, "--apply" in answer.out) == (0, True, True)
    assert client.schedules.list() == []


def test_an_import_is_made_once_however_often_it_is_applied(
    kairos: Terminal, table: Path, client: SyncKairos
) -> None:
    for _ in range(2):
        answer = kairos("import-crontab", table, "--apply")
        assert answer.code == 0, answer.err
    made = client.schedules.list()
    assert (len(made), {each.generation for each in made}) == (3, {1})
    assert {each.sentence for each in made} >= {"every day at 00:00 (Europe/Berlin)"}
    assert {each.action for each in made} == {"command"}


def test_one_line_that_is_refused_keeps_all_out(kairos: Terminal, table: Path, client: SyncKairos) -> None:
    table.write_text(CRONTAB + "0 0 * * * /bin/echo x | /bin/cat\n")
    answer = kairos("import-crontab", table, "--apply")
    assert (answer.code, "nothing was changed" in answer.out) == (65, True)
    assert client.schedules.list() == []
    assert kairos("import-crontab", table, "--apply", "--allow-shell").code == 0
    assert len(client.schedules.list()) == 4


def test_an_import_that_no_worker_may_run_changes_nothing_and_says_what_to_allow(
    kairos: Terminal, table: Path, client: SyncKairos, home: Path
) -> None:
    (home / "kairos.toml").unlink()
    answer = kairos("import-crontab", table, "--apply")
    assert (answer.code, 'actions = ["command"]' in answer.err, "command_allow = " in answer.err) == (
        78,
        True,
        True,
    )
    assert client.schedules.list() == []


def test_a_line_that_left_the_crontab_is_told(kairos: Terminal, table: Path) -> None:
    kairos("import-crontab", table, "--apply")
    table.write_text("0 0 * * * /bin/true --quiet\n")
    answer = kairos("import-crontab", table, "--apply")
    assert ("crontab:echo-" in answer.out, "still fire" in answer.out) == (True, True)


def test_a_program_gets_one_document(kairos: Terminal, table: Path) -> None:
    table.write_text("@reboot /bin/true\n0 0 * * * /bin/true\n")
    answer = kairos("import-crontab", table, "--json", "--tz", "UTC")
    document = json.loads(answer.out)
    refused, made = document["lines"]
    assert (answer.code, "refused" in refused, made["sentence"]) == (65, True, "every day at 00:00 (UTC)")
    assert document["applied"] == []
