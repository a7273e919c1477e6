"""Kairos: a scheduler that fails loudly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kairos.app import Kairos, SyncKairos
    from kairos.errors import InvalidTransition, KairosError
    from kairos.fsm.lifecycle import JobState, can_transition
    from kairos.machine.backoff import Backoff
    from kairos.machine.context import Context
    from kairos.machine.definition import step
    from kairos.machine.outcome import Await, Done, Next, Replay, Stop
    from kairos.remote import KairosClient
    from kairos.schedule import IntentError, when
    from kairos.shapes.job import Job

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

_HOMES = {
    "kairos.app": ("Kairos", "SyncKairos"),
    "kairos.errors": ("InvalidTransition", "KairosError"),
    "kairos.fsm.lifecycle": ("JobState", "can_transition"),
    "kairos.machine.backoff": ("Backoff",),
    "kairos.machine.context": ("Context",),
    "kairos.machine.definition": ("step",),
    "kairos.machine.outcome": ("Await", "Done", "Next", "Replay", "Stop"),
    "kairos.remote": ("KairosClient",),
    "kairos.schedule": ("IntentError", "when"),
    "kairos.shapes.job": ("Job",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a program loads only the parts that it uses."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kairos' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
