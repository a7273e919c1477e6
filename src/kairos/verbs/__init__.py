"""What can be asked of Kairos. Each verb yields statements and returns its answer; none does I/O."""

from kairos.verbs.accept import enqueue, enqueue_many, insert, instant, timed
from kairos.verbs.change import cancel, retry, run_now, signal
from kairos.verbs.queue import limit, pause, queues, resume, workers
from kairos.verbs.read import get, history, list_jobs, result, signals

__all__ = [
    "cancel",
    "enqueue",
    "enqueue_many",
    "get",
    "history",
    "insert",
    "instant",
    "limit",
    "list_jobs",
    "pause",
    "queues",
    "result",
    "resume",
    "retry",
    "run_now",
    "signal",
    "signals",
    "timed",
    "workers",
]
