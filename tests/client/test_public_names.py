"""The few names people import, pinned: a change of either list must be a decision."""

from __future__ import annotations

import inspect
from dataclasses import fields
from importlib.resources import files
from typing import get_type_hints

import kairos
from kairos import Kairos, SyncKairos
from kairos.action import CallOptions
from kairos.client import AsyncOnConnection, OperationMethods, SyncOnConnection
from kairos.machine.call import ORIGIN, Options
from kairos.machine.outcome import OUTCOMES

NAMES = """
Await Backoff Context Done IntentError InvalidTransition Job JobState Kairos KairosClient KairosError
Next Replay Stop SyncKairos can_transition step when
"""
VERBS = """
action cancel enqueue enqueue_many get history job jobs limit machine pause queues result resume retry run_now snooze
signal signals workers
"""


def public(cls: type) -> set[str]:
    return {name for name, value in inspect.getmembers(cls, callable) if not name.startswith("_")}


def test_the_public_names_of_kairos_are_these() -> None:
    assert set(kairos.__all__) == set(NAMES.split())
    assert all(getattr(kairos, name) is not None for name in kairos.__all__)


def test_every_outcome_is_a_public_name() -> None:
    assert {outcome.__name__ for outcome in OUTCOMES} <= set(kairos.__all__)


def test_what_can_be_asked_is_this_at_least() -> None:
    assert set(VERBS.split()) <= public(OperationMethods)


def test_both_apps_and_both_connections_have_the_same_verbs_with_the_same_words() -> None:
    for cls in (Kairos, SyncKairos, AsyncOnConnection, SyncOnConnection):
        assert public(OperationMethods) <= public(cls)
        for name in public(OperationMethods):
            # What tells the worlds apart.
            assert getattr(cls, name) is getattr(OperationMethods, name) or name == "run"
            assert inspect.getdoc(getattr(OperationMethods, name)), name


def test_what_only_the_async_app_has_is_what_runs_for_long() -> None:
    assert public(Kairos) - public(SyncKairos) == {"asgi", "worker", "synchronise", "transact"}
    assert public(SyncKairos) - public(Kairos) == set()


def test_the_package_is_typed() -> None:
    assert (files("kairos") / "py.typed").is_file()


def test_a_type_checker_knows_every_option_for_people() -> None:
    known = {field.name for field in fields(Options) if field.init} - ORIGIN
    assert set(get_type_hints(CallOptions)) == known
