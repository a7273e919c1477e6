"""The lifecycle of jobs, and how state machines are described, checked and drawn. No I/O."""

from kairos.fsm.lifecycle import JobState, can_transition
from kairos.fsm.spec import Edge, Spec

__all__ = ["Edge", "JobState", "Spec", "can_transition"]
