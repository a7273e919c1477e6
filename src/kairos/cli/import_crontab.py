"""`kairos import-crontab`: turn the lines of a crontab into schedules."""

from __future__ import annotations

import os
import pwd
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kairos.actions.crontab import CronEnvironment, Entry, Refusal, read
from kairos.app import SyncKairos
from kairos.cli import command_allowed, output
from kairos.cli.database_option import DatabaseChoice, Json, connect, with_database
from kairos.cli.run import call
from kairos.errors import BadRequest
from kairos.machine.call import Options
from kairos.schedule.timezones import find_zone, unknown_zone

REFUSED = 65  # EX_DATAERR: a line of the file cannot be imported


@with_database
def import_crontab(
    database: DatabaseChoice,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="The crontab; - reads standard input.", show_default="-")
    ] = "-",
    apply: Annotated[bool, typer.Option("--apply", help="Make the schedules: all of them, or none.")] = False,
    tz: Annotated[
        str | None,
        typer.Option(
            "--tz", metavar="ZONE", help="The time zone of the crontab.", show_default="the machine's"
        ),
    ] = None,
    user_format: Annotated[
        bool, typer.Option("--user-format", help="A sixth column names a user, as in /etc/crontab.")
    ] = False,
    user: Annotated[
        str | None, typer.Option(help="The user that the workers run as.", show_default="you")
    ] = None,
    allow_shell: Annotated[
        bool, typer.Option("--allow-shell", help="Let a shell run the lines that need one.")
    ] = False,
    prefix: Annotated[str, typer.Option(help="The prefix of the schedules' names.")] = "crontab",
    as_json: Json = False,
) -> None:
    """Show the schedule that each line of a crontab would become; with --apply, create them."""
    start = CronEnvironment(tz=_zone(tz), home=_home(user), user=user or _current_user())
    text = sys.stdin.read() if file == "-" else Path(file).read_text()
    found = list(read(text, start, with_user=user_format, allow_shell=allow_shell, prefix=prefix))
    entries = [each for each in found if isinstance(each, Entry)]
    refusals = [each for each in found if isinstance(each, Refusal)]
    applied: list[str] = []
    notes: list[str] = []
    if apply and not refusals:
        with connect(database.settings()) as kairos:
            notes = _apply(kairos, entries, prefix)
        applied = [each.name for each in entries]
    if as_json:
        output.document(_document(found, applied, notes))
    else:
        _show(found, applied, notes, start.tz, apply=apply)
    if refusals:
        raise typer.Exit(REFUSED)


def _apply(kairos: SyncKairos, entries: Sequence[Entry], prefix: str) -> list[str]:
    """Create or update every schedule in one transaction; return warnings."""
    if not entries:
        return []
    warning = command_allowed.check(kairos, [(each.argv, each.env) for each in entries])
    with kairos.store.transaction() as connection:
        there = kairos.on(connection).schedules
        for each in entries:
            there.add(each.name, each.fields, call(_arguments(each), Options()), tz=each.plan.zone)
        named = {each.name for each in entries}
        gone = [
            old.name for old in there.list() if old.name.startswith(f"{prefix}:") and old.name not in named
        ]
    notes = [] if warning is None else [warning]
    if gone:
        notes.append(
            f"{', '.join(gone)}: imported before, and in this crontab no more. "
            "They still fire: `kairos schedules rm` removes them."
        )
    return notes


def _arguments(entry: Entry) -> dict[str, Any]:
    arguments: dict[str, Any] = {"argv": list(entry.argv), "cwd": entry.cwd}
    if entry.env:
        arguments["env"] = dict(entry.env)
    if entry.stdin is not None:
        arguments["stdin"] = entry.stdin
    return arguments


def _show(
    found: Sequence[Entry | Refusal], applied: Sequence[str], notes: Sequence[str], tz: str, *, apply: bool
) -> None:
    for each in found:
        output.say(f"{each.number}: {each.line}")
        if isinstance(each, Refusal):
            output.say(f"   refused: {each.why}".replace("\n", "\n   "))
            continue
        ticks = ", ".join(f"{tick:%Y-%m-%d %H:%M}Z" for tick in each.plan.ticks(limit=3))
        output.facts(
            [
                ("  ", each.name),
                ("  when", each.plan.sentence),
                ("  next", ticks),
                ("  runs", shlex.join(each.argv)),
                ("  in", each.cwd),
                ("  reads", None if each.stdin is None else repr(each.stdin)),
                ("  sets", ", ".join(each.env)),
            ]
        )
    refused = sum(1 for each in found if isinstance(each, Refusal))
    count = len(found) - refused
    if applied:
        output.say(f"\n{count} schedules are live. Take these lines out of cron, or they run twice.")
    elif refused:
        output.say(
            f"\n{refused} of {len(found)} lines are refused"
            + (", so nothing was changed." if apply else f"; {count} would be schedules, read in {tz}.")
        )
    else:
        output.say(f"\n{count} schedules, read in {tz}: nothing is changed without --apply.")
    for note in notes:
        output.say(note)


def _document(
    found: Sequence[Entry | Refusal], applied: Sequence[str], notes: Sequence[str]
) -> dict[str, Any]:
    return {
        "lines": [
            {"line": each.number, "text": each.line, "refused": each.why}
            if isinstance(each, Refusal)
            else {
                "line": each.number,
                "text": each.line,
                "name": each.name,
                "sentence": each.plan.sentence,
                "nextTicks": each.plan.ticks(limit=3),
                "argv": list(each.argv),
                "cwd": each.cwd,
            }
            for each in found
        ],
        "applied": list(applied),
        "notes": list(notes),
    }


def _current_user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def _home(user: str | None) -> str:
    try:
        return (pwd.getpwnam(user) if user else pwd.getpwuid(os.geteuid())).pw_dir
    except KeyError as error:
        raise BadRequest(f"There is no user {user!r} on this machine.", field="user") from error


def _zone(given: str | None) -> str:
    """Return the time zone that cron uses on this machine."""
    name = given or os.environ.get("TZ", "").removeprefix(":") or _machines_zone()
    if name is None:
        raise BadRequest(
            "The machine's time zone has no name that can be found: give it with --tz.", field="tz"
        )
    if find_zone(name) is None:
        raise BadRequest(unknown_zone(name), field="tz")
    return name


def _machines_zone() -> str | None:
    link = Path("/etc/localtime").resolve()
    _, found, name = str(link).partition("/zoneinfo/")
    if found:
        return name
    file = Path("/etc/timezone")
    return file.read_text().strip() if file.is_file() else None
