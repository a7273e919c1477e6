"""The table of requests, and that each of its rows is there wherever clients look for it."""

from __future__ import annotations

import pytest
import typer

from kairos import Kairos, SyncKairos
from kairos.api.app import ROUTERS
from kairos.api.caller import Scope
from kairos.api.path_converters import path_of
from kairos.api.route_scopes import ROUTE_SCOPES
from kairos.cli import root
from kairos.fsm.lifecycle import TRANSITIONS, By, JobState
from kairos.fsm.requests import REQUEST_BY_TARGET, REQUESTS, JobRequest, can
from kairos.remote.client import KairosClient
from kairos.store.query import statements

each = pytest.mark.parametrize("asked", REQUESTS.values(), ids=lambda asked: asked.name)


CAN = {
    "scheduled": "edit run_now snooze signal cancel",
    "pending": "edit snooze signal cancel",
    "running": "signal cancel",
    "waiting": "signal cancel",
    "success": "retry delete",
    "failed": "retry delete",
    "cancelled": "retry delete",
    "expired": "retry delete",
}


@pytest.mark.parametrize("state", JobState)
def test_what_a_client_may_ask_for_follows_from_the_state(state: JobState) -> None:
    assert can(state) == can(str(state)) == tuple(CAN[state].split())


def test_every_transition_that_a_client_makes_is_a_request() -> None:
    ours = {row.verb for row in TRANSITIONS if row.by is By.CLIENT}
    assert (
        {asked.verb for asked in REQUESTS.values()} - {None}
        == ours
        == {row.name for row in REQUEST_BY_TARGET.values()}
    )


def test_what_is_dangerous_is_shown_last() -> None:
    dangerous = [asked.dangerous for asked in REQUESTS.values()]
    assert dangerous == sorted(dangerous)


@each
def test_a_request_has_a_statement(asked: JobRequest) -> None:
    assert asked.statement in statements("kairos")


@each
def test_a_request_is_served_over_http_with_its_scope(asked: JobRequest) -> None:
    served = {
        (method, route.path) for router in ROUTERS for route in router.routes for method in route.methods
    }
    assert (asked.method, path_of(asked)) in served
    assert ROUTE_SCOPES[asked.method, asked.path] is Scope(asked.scope)


@each
@pytest.mark.parametrize("client", [Kairos, SyncKairos, KairosClient])
def test_a_request_is_a_method_of_every_client(asked: JobRequest, client: type) -> None:
    assert callable(getattr(client, asked.name))


@each
def test_a_request_is_a_command_with_the_help_of_the_table(asked: JobRequest) -> None:
    commands = typer.main.get_command(root.app).commands
    command = commands["jobs"].commands.get(asked.word) or commands[asked.word]
    assert command.help == asked.help
    options = {name for each in command.params for name in each.opts}
    assert ("--yes" in options) == asked.dangerous
    assert not {"reason", "delay", "until"}.intersection(asked.fields) - {
        name.removeprefix("--") for name in options
    }
