"""The lifecycle and the machinery to describe, check and draw state machines. Pure."""

from kairos.fsm.lifecycle import JobState, can_transition
from kairos.fsm.spec import Edge, Spec

__all__ = ["Edge", "JobState", "Spec", "can_transition"]
