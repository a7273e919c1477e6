"""What would be silent, made loud: every kind of alarm, and what becomes of one."""

from kairos.alarms.decide import Changes, Found, Report, decide
from kairos.alarms.kinds import KINDS, Kind
from kairos.alarms.thresholds import Thresholds

__all__ = ["KINDS", "Changes", "Found", "Kind", "Report", "Thresholds", "decide"]
