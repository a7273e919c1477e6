import { jobsHref, queueHref, scheduleHref, workerHref } from "@/lib/address";
import type { Alarm } from "@/lib/documents";
import { State } from "@/lib/lifecycle.gen";

export type Remedy = { label: string; href: string };

const jobs = (label: string, filter: Record<string, string>): Remedy => ({ label, href: jobsHref(filter) });

const workers: Remedy = { label: "Workers", href: "/workers/" };

/** The subject is `action@version`; jobs are listed by their action. */
const withoutVersion = (subject: string) => subject.replace(/@[^@]*$/, "");

/** What these alarms are about is seen in Postgres itself: no page here shows it, and the remedy says where to look. */
const inPostgres = () => [];

/** Links to the pages where an alarm of each kind is examined or fixed; the first link is the main one. */
const REMEDIES: Record<Alarm["kind"], (subject: string) => Remedy[]> = {
  jobs_failed: (action) => [
    { label: "Errors", href: `/errors/?${new URLSearchParams({ action })}` },
    jobs("Failed jobs", { state: State.failed, action }),
  ],
  jobs_expired: (action) => [jobs("Expired jobs", { state: State.expired, action })],
  jobs_poisoned: (action) => [jobs("Failed jobs", { state: State.failed, action })],
  leases_reaped: (action) => [jobs("Its jobs", { action }), workers],
  jobs_overdue: (queue) => [
    { label: "Queue", href: queueHref(queue) },
    jobs("Pending jobs", { state: State.pending, queue }),
  ],
  queue_unserved: (queue) => [{ label: "Queue", href: queueHref(queue) }, workers],
  action_unknown: (subject) => [jobs("Its jobs", { action: withoutVersion(subject) }), workers],
  jobs_waiting: (action) => [jobs("Waiting jobs", { state: State.waiting, action })],
  key_held_up: (key) => [jobs("Jobs of this key", { key })],
  jobs_running_long: (action) => [jobs("Running jobs", { state: State.running, action })],
  ticks_missed: (name) => [{ label: "Schedule", href: scheduleHref(name) }],
  schedule_paused: (name) => [{ label: "Schedule", href: scheduleHref(name) }],
  schedule_unreadable: (name) => [{ label: "Schedule", href: scheduleHref(name) }],
  schedule_overdue: (name) => [{ label: "Schedule", href: scheduleHref(name) }],
  commits_stale: (worker) => [{ label: "Worker", href: workerHref(worker) }],
  commits_blocked: (worker) => [{ label: "Worker", href: workerHref(worker) }],
  listener_deaf: (worker) => [{ label: "Worker", href: workerHref(worker) }],
  clock_skewed: () => [workers],
  webhook_undeliverable: () => [{ label: "Webhooks", href: "/settings/?tab=webhooks" }],
  replies_cut: (action) => [jobs("Its jobs", { action })],
  runner_unavailable: () => [jobs("Pending jobs", { state: State.pending }), workers],
  retention_behind: () => [workers],
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
