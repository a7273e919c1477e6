"""The schemas of workers."""

from kairos.api.schemas.base import one, page
from kairos.shapes.worker import WorkerRow

WorkerAnswer = one("WorkerAnswer", worker=WorkerRow)
WorkerList = page("WorkerList", workers=WorkerRow)
