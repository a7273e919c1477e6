"""The schemas of alarms."""

from kairos.api.schemas.base import one, page
from kairos.shapes.alarm import Alarm

AlarmAnswer = one("AlarmAnswer", alarm=Alarm)
AlarmList = page("AlarmList", alarms=Alarm)
