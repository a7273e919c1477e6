"""What can be asked of Kairos. Each verb yields statements and returns its answer; none does I/O."""

from kairos.verbs.accept import enqueue, enqueue_many, insert, instant, timed
from kairos.verbs.alarms import acknowledge, alarms
from kairos.verbs.ask import Ask, calls
from kairos.verbs.bulk import Asked, bulk
from kairos.verbs.change import cancel, delete, retry, run_now, signal
from kairos.verbs.edit import edit
from kairos.verbs.find import Filters, list_jobs, page
from kairos.verbs.logs import logs
from kairos.verbs.machines import machine, machines, register
from kairos.verbs.queue import drain, limit, pause, queue, queues, resume, worker, workers
from kairos.verbs.read import get, history, result, signals
from kairos.verbs.stats import series, stats

__all__ = [
    "Ask",
    "Asked",
    "Filters",
    "acknowledge",
    "alarms",
    "bulk",
    "calls",
    "cancel",
    "delete",
    "drain",
    "edit",
    "enqueue",
    "enqueue_many",
    "get",
    "history",
    "insert",
    "instant",
    "limit",
    "list_jobs",
    "logs",
    "machine",
    "machines",
    "page",
    "pause",
    "queue",
    "queues",
    "register",
    "result",
    "resume",
    "retry",
    "run_now",
    "series",
    "signal",
    "signals",
    "stats",
    "timed",
    "worker",
    "workers",
]
