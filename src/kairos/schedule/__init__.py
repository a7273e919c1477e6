"""When things run: text into a schedule, and a schedule into instants."""

from .errors import IntentError
from .plan import Plan, when

__all__ = ["IntentError", "Plan", "when"]
