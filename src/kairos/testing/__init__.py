"""What a test of a Kairos application needs: `drain()` instead of a worker, a clock to move instead of sleep."""

from kairos.testing.assertions import assert_enqueued, assert_state
from kairos.testing.clock import Clock
from kairos.testing.drain import drain

__all__ = ["Clock", "assert_enqueued", "assert_state", "drain"]
