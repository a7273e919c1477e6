"""The schema of a job's log."""

from kairos.api.schemas.base import page
from kairos.shapes.log_line import LogRow

LogsAnswer = page("LogsAnswer", logs=LogRow, cursor=int)
