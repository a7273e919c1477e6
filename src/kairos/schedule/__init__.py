"""Schedules: parse an intent into a plan, and evaluate a plan into instants.

parse      chooses the notation of a text and compiles it
english    the grammar of English phrases
notations  cron, ISO 8601, RFC 5545 rules, systemd calendar events
plan       the normalised value, its evaluation and its stored form
render     the canonical sentence of a plan
"""

from kairos.schedule.errors import IntentError
from kairos.schedule.parse import when
from kairos.schedule.plan.plan import Plan

__all__ = ["IntentError", "Plan", "when"]
