"""The table of alarm kinds. A kind that lasts also has a check in operations/alarm_checks.py."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

ERROR, WARNING = "error", "warning"
CHECK_FAILED = "check_failed"

# An alarm about an event stays open until it is acknowledged, or has not recurred for this long.
QUIET_AFTER = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of alarm. `cause` and `remedy` are templates, filled with the finding.

    `happens` marks an event, as opposed to a lasting state; `after` is the threshold, if that is a duration.
    """

    name: str
    severity: str
    means: str
    subject: str
    cause: str
    remedy: str
    after: timedelta | None = None
    happens: bool = False


_TABLE = (
    Kind(
        "jobs_failed",
        ERROR,
        "jobs ended as failed",
        "action",
        "{count} {jobs} of {subject} failed; the last was job {job}: {detail}",
        "Read its log and history (`kairos jobs show {job}`), fix the cause, then `kairos jobs retry {job}`; "
        "acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "jobs_expired",
        ERROR,
        "jobs expired: their TTL closed before a worker took them",
        "action",
        "{count} {jobs} of {subject} expired; the last was job {job}: {detail}",
        "Add workers or raise their concurrency, or give the jobs a longer TTL; acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "jobs_poisoned",
        ERROR,
        "poison jobs: stopped because their workers were lost more often than max_reaps allows",
        "action",
        "{count} {jobs} of {subject} killed worker after worker; the last was job {job}: {detail}",
        "See what kills the process (memory, a crash in native code) before you retry job {job}; "
        "acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "leases_reaped",
        WARNING,
        "leases reaped: a worker was lost, or stood still, while it ran a job",
        "action",
        "Workers that were lost had {count} {leases} on jobs of {subject}; "
        "the last was job {job}, held by {detail}",
        "See why the worker went: out of memory, killed, its machine or network gone; acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "leases_overdue",
        ERROR,
        "leases are overdue: their jobs' worker was lost, and the workers that run cannot reap them",
        "action",
        "{count} {jobs} of {subject} stay claimed by a lost worker; the first, since {since}, is {detail}",
        'Read the workers\' log for "the reap of a job is refused": it names what Postgres refuses, such as a trigger '
        "or a constraint of yours; else see which session has the job locked. It is tried again by itself.",
        after=timedelta(minutes=3),
    ),
    Kind(
        "jobs_overdue",
        WARNING,
        "jobs are due, and their workers do not get to them",
        "queue",
        "{count} {jobs} in queue {subject} waited too long for a worker; the oldest is due since {since}",
        "Add workers or concurrency for the queue, or lift its limits; if nothing runs, see what its workers hold.",
        after=timedelta(minutes=5),
    ),
    Kind(
        "queue_unserved",
        ERROR,
        "a queue has jobs that are due, and no live worker serves it",
        "queue",
        "Queue {subject} has {count} {jobs} due since {since}, and no live worker serves it",
        "Start a worker for it (`kairos worker APP --queues {subject}`), or pause the queue.",
        after=timedelta(seconds=30),
    ),
    Kind(
        "action_unknown",
        ERROR,
        "jobs of an action, or with an argument, that no live worker knows",
        "action@version",
        "No live worker knows {subject}: {detail}",
        "Deploy a worker whose code has that action, version and argument, or cancel its jobs.",
    ),
    Kind(
        "jobs_waiting",
        WARNING,
        "jobs wait for a signal, without a deadline, for longer than is normal for their action",
        "action",
        "{count} {jobs} of {subject} waited without a deadline for longer than is normal; the oldest, since {since}, "
        "is {detail}",
        "Send the signal or cancel the job; give its Await a timeout, or say what is normal in `alarm_after`.",
        after=timedelta(days=1),
    ),
    Kind(
        "ticks_missed",
        ERROR,
        "missed ticks: no worker was there to fire them in time",
        "schedule",
        "Schedule {subject} missed {count} {ticks}; the last: {detail}",
        "Keep a worker running; `kairos schedules ls` shows its next ticks, a backfill fires those missed; "
        "acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "schedule_paused",
        ERROR,
        "a schedule was paused by Kairos: unreadable, or no longer declared",
        "schedule",
        "Schedule {subject} is paused since {since}: {detail}",
        "Correct its sentence or declare it again and resume it, or remove it.",
    ),
    Kind(
        "schedule_unreadable",
        ERROR,
        "a schedule is overdue, and its stored plan is newer than the workers that run",
        "schedule",
        "Schedule {subject} is due since {since}, and no worker reads its plan: it has format version {detail}",
        "Run a worker of the release that saved the schedule, or a newer one.",
    ),
    Kind(
        "schedule_overdue",
        ERROR,
        "a schedule is overdue, and the workers that run do not fire it",
        "schedule",
        "Schedule {subject} is overdue since {since}, and no worker fires it",
        'Read the workers\' log for "the ticks of a schedule are refused": it names what Postgres refuses.',
        after=timedelta(minutes=3),
    ),
    Kind(
        "replies_cut",
        WARNING,
        "children replied without their output: the replies that wait for their parent are as large as an inbox may be",
        "action",
        "{count} replies to jobs of {subject} came without their output; the last was of {detail} to job {job}",
        "Let the parent take replies as they come, or read the output of a child by its id (`outputOmitted`); "
        "acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "runner_unavailable",
        ERROR,
        "a cluster that steps run on (`runs_in`) cannot be used: their jobs are handed back, and wait",
        "cluster",
        "Steps cannot run in {subject}: {detail}",
        "Bring the cluster up, or correct its address in the settings; install the same Python, Kairos and code on its "
        "nodes as in the worker. The jobs are tried again by themselves; acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "replica_unusable",
        WARNING,
        "the read replica lags, is lost or was promoted: lists and statistics are read from the primary",
        "what is read",
        "The replica for {subject} is not used: {detail}",
        "See what holds it up (replication, a long query on it), or correct KAIROS_REPLICA_URL; it is used again as "
        "soon as it fits; acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "commits_stale",
        WARNING,
        "stale commits refused: a worker finished jobs whose lease it had lost",
        "worker",
        "{count} {commits} of worker {subject} were refused, because the jobs were someone else's by then",
        "The jobs ran elsewhere too. Give the worker a longer lease, or see why it stood still; "
        "acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "commits_blocked",
        ERROR,
        "outcomes cannot be committed: another session has the rows of their jobs locked",
        "worker",
        "Worker {subject} cannot commit the outcomes of some jobs since {since}: {detail}",
        "End that session's transaction (`select pg_terminate_backend(PID)`), and see what keeps it open: "
        "the jobs are committed as soon as their rows are free.",
        after=timedelta(seconds=10),
    ),
    Kind(
        "key_held_up",
        ERROR,
        "jobs are due, and the job of their key that runs does not end",
        "key",
        "Key {subject} has {count} {jobs} that must wait for {detail}, which has been running since {since}",
        "See what that job waits for (`kairos jobs logs`), and cancel it if it hangs; give its step a timeout.",
        after=timedelta(minutes=15),
    ),
    Kind(
        "jobs_running_long",
        WARNING,
        "a step has been running for longer than is normal",
        "action",
        "A step of {subject} has been running for longer than is normal in {count} {jobs}; the longest, since {since}, "
        "is {detail}",
        "See what the step waits for (`kairos jobs logs`), and cancel the job if it hangs; give the step a timeout, "
        "or say what is normal in `alarm_after`.",
        after=timedelta(hours=1),
    ),
    Kind(
        "clock_skewed",
        WARNING,
        "a worker's clock is far from the database's",
        "host",
        "The clock of {subject} is {detail} s away from the database's",
        "Run an NTP client there. Jobs keep to the database's clock, but logs and your own code do not.",
        after=timedelta(seconds=5),
    ),
    Kind(
        "listener_deaf",
        WARNING,
        "a worker's LISTEN is dead: it learns of new jobs by polling alone",
        "worker",
        "Worker {subject} hears no notifications since {since}, and finds jobs by polling alone",
        "Behind a pooler set KAIROS_DIRECT_URL to Postgres itself; else see what cuts its connection.",
        after=timedelta(seconds=30),
    ),
    Kind(
        "retention_behind",
        WARNING,
        "retention falls behind: ended jobs are kept longer than asked",
        "jobs",
        "The oldest ended job is from {since}, and should have been removed by now",
        "See whether a worker runs, and what keeps its pruner: locks, a slow disk, more ended jobs than it deletes.",
        after=timedelta(hours=1),
    ),
    Kind(
        "vacuum_behind",
        WARNING,
        "vacuum falls behind: picks walk over dead rows",
        "table",
        "Table {subject} has {count} dead rows beside {detail} live ones, and no vacuum since {since}",
        "Run `vacuum kairos.{subject}`; see that autovacuum is on and that no old transaction holds it up.",
        after=timedelta(minutes=15),
    ),
    Kind(
        "transaction_open",
        WARNING,
        "a transaction is open for long: no dead row can be removed meanwhile",
        "pid",
        "The transaction of {subject} ({detail}) is open since {since}",
        "End it (`select pg_terminate_backend({pid})`), or set idle_in_transaction_session_timeout.",
        after=timedelta(minutes=10),
    ),
    Kind(
        "standby_asynchronous",
        WARNING,
        "commits do not wait for a standby: a failover to it loses the last jobs",
        "standbys",
        "{count} standbys follow Postgres, and commits wait for none ({detail}): "
        "a failover to one of them loses the last jobs",
        "Name one in synchronous_standby_names (Patroni: `synchronous_mode: true`), and set "
        "`KAIROS_REQUIRE_STANDBY=true`; for standbys that are never promoted, set `alarm_after` high.",
        after=timedelta(minutes=10),
    ),
    Kind(
        "failed_over",
        WARNING,
        "Postgres failed over or was restored: a new timeline began",
        "timeline",
        "Postgres came from {detail} to {subject}: jobs that were accepted shortly before may be lost",
        "If the standby was asynchronous, enqueue the lost jobs again; ids of lost jobs are not given to others. "
        "Let commits wait for a synchronous standby; acknowledge the alarm.",
        happens=True,
    ),
    Kind(
        "ledger_unbalanced",
        ERROR,
        "the ledger does not balance: accepted is not live + ended + purged",
        "which sum",
        "The ledger is off by {count}: {detail}",
        "Jobs were deleted or inserted behind Kairos' back, or were lost: compare with a backup, and see who did. "
        "Acknowledging the alarm writes the difference off.",
    ),
    Kind(
        "webhook_undeliverable",
        ERROR,
        "the last delivery to a webhook failed for good",
        "webhook",
        "The last delivery to webhook {subject} failed: {detail}",
        "Fix the receiver or the URL, then send a test (`POST /api/webhooks/{subject}/test`); or pause it.",
    ),
    Kind(
        CHECK_FAILED,
        ERROR,
        "a check for alarms failed or took too long: what it looks for is not known",
        "check",
        "The check {subject} did not get through: {detail}",
        "See what makes it slow or fail (locks, a busy server, very many queues or actions); the other checks go on, "
        "and this alarm clears once the check gets through.",
    ),
)

KINDS = {kind.name: kind for kind in _TABLE}
