"""`kairos run`: a command on a schedule, or once, in one line."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from kairos import serializers
from kairos.actions import command, command_allowlist
from kairos.app import SyncKairos
from kairos.cli import command_allowed, output, parse
from kairos.cli.database_option import Json, on_database
from kairos.cli.when import CatchUp, Intent, Overlap, Zone, show_ticks
from kairos.errors import BadRequest, Conflict, NotFound
from kairos.machine.call import Call, Options, make_call
from kairos.machine.registry import Registry
from kairos.operations.schedules import intent as read_intent
from kairos.shapes.job import Job
from kairos.shapes.schedule import Schedule


@on_database
def run(
    kairos: SyncKairos,
    intent: Intent,
    argv: Annotated[
        list[str],
        typer.Argument(metavar="-- PROGRAM [ARGUMENT]...", show_default=False, help="What to run; no shell."),
    ],
    name: Annotated[
        str | None, typer.Option(help="The schedule's name.", show_default="the program's")
    ] = None,
    tz: Zone = "UTC",
    overlap: Overlap = "allow",
    catch_up: CatchUp = "last",
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="End it after this time, such as 10m.")
    ] = None,
    attempts: Annotated[int, typer.Option(min=1, max=1000, help="How often to try it in all.")] = 1,
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a variable; may be given again.")
    ] = None,
    cwd: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to run it.", show_default="here")
    ] = None,
    queue: Annotated[str | None, typer.Option(help="The queue of its jobs.")] = None,
    ttl: Annotated[
        str | None, typer.Option(metavar="TIME", help="A job expires if no worker took it in this time.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a command when an intent says so: on a schedule, or once if it means one time."""
    plan, ticks = kairos.run(read_intent(intent, tz, limit=5, calendars=kairos.calendars))
    folder = (cwd or Path.cwd()).resolve()
    variables = _variables(env or [])
    arguments: dict[str, Any] = {"argv": program(argv, folder), "cwd": str(folder), "attempts": attempts}
    if timeout is not None:
        arguments["timeout"] = timeout
    if variables:
        arguments["env"] = variables
    warning = command_allowed.check(kairos, [(arguments["argv"], variables)])
    options = Options(queue=queue, ttl=None if ttl is None else parse.length(ttl))
    if len(ticks) == 1:
        once = Options(queue=queue, ttl=options.ttl, run_at=ticks[0])
        _answer_job(kairos.enqueue(call(arguments, once)), plan.sentence, warning, as_json)
        return
    schedule = _save(
        kairos, name, intent, call(arguments, options), tz=tz, overlap=overlap, catch_up=catch_up
    )
    _answer(schedule, warning, as_json)


def program(argv: list[str], folder: Path) -> list[str]:
    """Return the argv with the absolute path of its program; raise if the program cannot be run."""
    whole = command_allowlist.locate(argv[0], cwd=folder)
    if not Path(whole).is_file() or not os.access(whole, os.X_OK):
        raise BadRequest(
            f"{whole} is no program that can be run: look at its path and its mode.", field="argv"
        )
    return [whole, *argv[1:]]


def call(arguments: dict[str, Any], options: Options) -> Call:
    """Return a call of the built-in action `command`, even if it is not enabled in these settings."""
    return make_call(command.machine((), ()), arguments, options)


def command_registry() -> Registry:
    """Return a registry with the action `command`, which the serializers need to redact its input."""
    registry = Registry()
    registry.add(command.machine((), ()))
    return registry


def _save(kairos: SyncKairos, name: str | None, intent: str, call: Call, **policies: Any) -> Schedule:
    """Save the schedule. A given name may edit any schedule; a generated one only that of the same command."""
    argv = json.loads(call.state)["argv"]
    chosen = name or Path(argv[0]).name
    try:
        there: Schedule = kairos.schedules.get(chosen)
    except NotFound:
        pass
    else:
        if there.declared_by is not None:
            raise Conflict(
                f"Schedule {chosen!r} is declared in the code of {there.declared_by}: choose another."
            )
        if name is None and (there.action != "command" or there.input["argv"] != argv):
            raise Conflict(
                f"There is a schedule {chosen!r} that runs something else: give this one a --name."
            )
    saved: Schedule = kairos.schedules.add(chosen, intent, call, **policies)
    return saved


def _variables(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadRequest(f"--env is {pair!r}; write NAME=VALUE.", field="env")
        found[name] = value
    return found


def _answer_job(job: Job, sentence: str, warning: str | None, as_json: bool) -> None:
    if as_json:
        output.document({"job": serializers.job(job, command_registry()), "warning": warning})
        return
    output.say(f"Job {job.id} runs {sentence}, which is {output.ago(job.run_at)}.")
    if warning is not None:
        output.say(warning)


def _answer(schedule: Schedule, warning: str | None, as_json: bool) -> None:
    if as_json:
        output.document({"schedule": serializers.schedule(schedule, command_registry()), "warning": warning})
        return
    output.facts(
        [
            ("schedule", schedule.name),
            ("when", schedule.sentence),
            ("runs", shlex.join(schedule.input["argv"])),
            ("in", schedule.input["cwd"]),
        ]
    )
    show_ticks(schedule.next_ticks, schedule.tz)
    if warning is not None:
        output.say(warning)
