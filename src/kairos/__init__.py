"""Kairos: a scheduler that fails loudly."""

from kairos.app import Kairos, SyncKairos
from kairos.errors import InvalidTransition, KairosError
from kairos.fsm.lifecycle import JobState, can_transition
from kairos.machine.backoff import Backoff
from kairos.machine.context import Context
from kairos.machine.definition import step
from kairos.machine.outcome import Await, Done, Next, Replay, Stop
from kairos.remote import KairosClient
from kairos.schedule import IntentError, when
from kairos.store.rows import Job

__all__ = [
    "Await",
    "Backoff",
    "Context",
    "Done",
    "IntentError",
    "InvalidTransition",
    "Job",
    "JobState",
    "Kairos",
    "KairosClient",
    "KairosError",
    "Next",
    "Replay",
    "Stop",
    "SyncKairos",
    "can_transition",
    "step",
    "when",
]
