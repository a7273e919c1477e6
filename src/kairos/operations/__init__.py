"""The operations of Kairos. Each is a generator that yields statements and returns a result; none does I/O."""

from kairos.operations.alarms import acknowledge, alarms
from kairos.operations.bounded_pages import bounded_history, bounded_logs, bounded_page, bounded_signals
from kairos.operations.bulk_jobs import BULK, bulk
from kairos.operations.change_jobs import cancel, delete, move, retry, run_now, signal
from kairos.operations.edit_job import edit
from kairos.operations.ended_jobs import MOST_ENDED_JOBS, ended_jobs
from kairos.operations.enqueue_jobs import enqueue, enqueue_many, insert, instant, timed
from kairos.operations.error_groups import error_groups
from kairos.operations.find_jobs import counts, list_jobs
from kairos.operations.logs import logs
from kairos.operations.machines import machine, machines, register
from kairos.operations.named_calls import NamedCall, calls
from kairos.operations.queues_and_workers import drain, limit, pause, queue, queues, resume, worker, workers
from kairos.operations.read_jobs import get, history, result, signals
from kairos.operations.stats import series, stats
from kairos.shapes.job_filters import Filters

__all__ = [
    "BULK",
    "MOST_ENDED_JOBS",
    "Filters",
    "NamedCall",
    "acknowledge",
    "alarms",
    "bounded_history",
    "bounded_logs",
    "bounded_page",
    "bounded_signals",
    "bulk",
    "calls",
    "cancel",
    "counts",
    "delete",
    "drain",
    "edit",
    "ended_jobs",
    "enqueue",
    "enqueue_many",
    "error_groups",
    "get",
    "history",
    "insert",
    "instant",
    "limit",
    "list_jobs",
    "logs",
    "machine",
    "machines",
    "move",
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
