"""Alarms: the kinds there are, and the decision which to raise, refresh and clear."""

from kairos.alarms.decide import Changes, Found, Report, decide
from kairos.alarms.kinds import KINDS, Kind
from kairos.alarms.thresholds import Thresholds

__all__ = ["KINDS", "Changes", "Found", "Kind", "Report", "Thresholds", "decide"]
