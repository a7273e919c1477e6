import { jobsHref, queueHref, scheduleHref, workerHref } from "@/lib/address";
import type { Alarm } from "@/lib/documents";
import { State } from "@/lib/lifecycle.gen";

export type Remedy = { label: string; href: string };

const jobs = (label: string, filter: Record<string, string>): Remedy => ({ label, href: jobsHref(filter) });

/** Links to the pages where an alarm of each kind is examined or fixed; the first link is the main one. */
const REMEDIES: Record<string, (subject: string) => Remedy[]> = {
  jobs_failed: (action) => [
    { label: "Errors", href: `/errors/?${new URLSearchParams({ action })}` },
    jobs("Failed jobs", { state: State.failed, action }),
  ],
  jobs_expired: (action) => [jobs("Expired jobs", { state: State.expired, action })],
  jobs_poisoned: (action) => [jobs("Failed jobs", { state: State.failed, action })],
  leases_reaped: (action) => [jobs("Its jobs", { action }), { label: "Workers", href: "/workers/" }],
  jobs_overdue: (queue) => [
    { label: "Queue", href: queueHref(queue) },
    jobs("Pending jobs", { state: State.pending, queue }),
  ],
  queue_unserved: (queue) => [
    { label: "Queue", href: queueHref(queue) },
    { label: "Workers", href: "/workers/" },
  ],
  action_unknown: (action) => [jobs("Its jobs", { action }), { label: "Workers", href: "/workers/" }],
  jobs_waiting: (action) => [jobs("Waiting jobs", { state: State.waiting, action })],
  key_held_up: (key) => [jobs("Jobs of this key", { key })],
  jobs_running_long: (action) => [jobs("Running jobs", { state: State.running, action })],
  ticks_missed: (name) => [{ label: "Schedule", href: scheduleHref(name) }],
  schedule_paused: (name) => [{ label: "Schedule", href: scheduleHref(name) }],
  schedule_unreadable: (name) => [{ label: "Schedule", href: scheduleHref(name) }],
  commits_stale: (worker) => [{ label: "Worker", href: workerHref(worker) }],
  commits_blocked: (worker) => [{ label: "Worker", href: workerHref(worker) }],
  listener_deaf: (worker) => [{ label: "Worker", href: workerHref(worker) }],
  clock_skewed: () => [{ label: "Workers", href: "/workers/" }],
  webhook_undeliverable: () => [{ label: "Webhooks", href: "/settings/?tab=webhooks" }],
};

export const remediesOf = (alarm: Alarm): Remedy[] =>
  alarm.subject ? (REMEDIES[alarm.kind]?.(alarm.subject) ?? []) : [];
