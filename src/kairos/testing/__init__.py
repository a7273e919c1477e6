"""Helpers for testing applications: `drain()` instead of a worker, and a clock to move instead of sleeping."""

from kairos.testing.assertions import assert_enqueued, assert_state
from kairos.testing.clock import Clock
from kairos.testing.drain import drain

__all__ = ["Clock", "assert_enqueued", "assert_state", "drain"]
