import { jobsHref, queueHref, scheduleHref, workerHref } from "@/lib/address";
import type { Alarm } from "@/lib/documents";
import { type BulkVerb, State } from "@/lib/lifecycle.gen";

type Filters = Record<string, string>;
/** A page to look at, or something to do: a bulk request, which is confirmed first, or one request. */
export type Remedy =
  | { label: string; href: string }
  | { label: string; bulk: BulkVerb; jobs: Filters }
  | { label: string; resume: string }
  | { label: string; test: string };

const jobs = (label: string, filter: Filters): Remedy => ({ label, href: jobsHref(filter) });
const bulk = (label: string, verb: BulkVerb, filter: Filters): Remedy => ({
  label,
  bulk: verb,
  jobs: filter,
});

const schedule = (name: string): Remedy => ({ label: "Schedule", href: scheduleHref(name) });
const workers: Remedy = { label: "Workers", href: "/workers/" };

/** The subject is `action@version`; jobs are listed by their action. */
const withoutVersion = (subject: string) => subject.replace(/@[^@]*$/, "");

/** These alarms are about Postgres itself: no page here shows more, and the remedy has the command or setting. */
const inPostgres = () => [];

/** Where an alarm of each kind is examined, then what can be done about it; the first is the main one. */
const REMEDIES: Record<Alarm["kind"], (subject: string) => Remedy[]> = {
  jobs_failed: (action) => [
    { label: "Errors", href: `/errors/?${new URLSearchParams({ action })}` },
    jobs("Failed jobs", { state: State.failed, action }),
    bulk("Retry all…", "retry", { state: State.failed, action }),
  ],
  jobs_expired: (action) => [
    jobs("Expired jobs", { state: State.expired, action }),
    bulk("Retry all…", "retry", { state: State.expired, action }),
  ],
  jobs_poisoned: (action) => [jobs("Failed jobs", { state: State.failed, action })],
  leases_reaped: (action) => [jobs("Its jobs", { action }), workers],
  leases_overdue: (action) => [jobs("Running jobs", { state: State.running, action })],
  jobs_overdue: (queue) => [
    { label: "Queue", href: queueHref(queue) },
    jobs("Pending jobs", { state: State.pending, queue }),
  ],
  queue_unserved: (queue) => [
    { label: "Queue", href: queueHref(queue) },
    jobs("Pending jobs", { state: State.pending, queue }),
    workers,
  ],
  action_unknown: (subject) => [
    jobs("Pending jobs", { state: State.pending, action: withoutVersion(subject) }),
    bulk("Cancel all…", "cancel", { state: State.pending, action: withoutVersion(subject) }),
    workers,
  ],
  jobs_waiting: (action) => [jobs("Waiting jobs", { state: State.waiting, action })],
  key_held_up: (key) => [
    jobs("Running job", { state: State.running, key }),
    jobs("Pending jobs", { state: State.pending, key }),
  ],
  jobs_running_long: (action) => [jobs("Running jobs", { state: State.running, action })],
  ticks_missed: (name) => [
    schedule(name),
    { label: "Backfill…", href: `${scheduleHref(name)}&backfill=yes` },
  ],
  schedule_paused: (name) => [schedule(name), { label: "Resume", resume: name }],
  schedule_unreadable: (name) => [schedule(name), workers],
  schedule_overdue: (name) => [schedule(name), workers],
  commits_stale: (worker) => [{ label: "Worker", href: workerHref(worker) }],
  commits_blocked: (worker) => [{ label: "Worker", href: workerHref(worker) }],
  listener_deaf: (worker) => [{ label: "Worker", href: workerHref(worker) }],
  clock_skewed: () => [workers],
  webhook_undeliverable: (webhook) => [
    { label: "Webhooks", href: "/settings/?tab=webhooks" },
    { label: "Send a test", test: webhook },
  ],
  replies_cut: (action) => [jobs("Its jobs", { action })],
  runner_unavailable: () => [jobs("Pending jobs", { state: State.pending }), workers],
  retention_behind: () => [workers, jobs("Succeeded jobs", { state: State.success })],
  failed_over: () => [{ label: "Jobs", href: "/jobs/" }, workers],
  ledger_unbalanced: () => [{ label: "Audit", href: "/settings/?tab=audit" }],
  check_failed: () => [{ label: "Queues", href: "/queues/" }],
  replica_unusable: inPostgres,
  vacuum_behind: inPostgres,
  transaction_open: inPostgres,
  standby_asynchronous: inPostgres,
};

export const remediesOf = (alarm: Pick<Alarm, "kind" | "subject">): Remedy[] =>
  REMEDIES[alarm.kind](alarm.subject ?? "");
