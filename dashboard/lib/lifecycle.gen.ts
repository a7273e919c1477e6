// Rendered from kairos/fsm/ by `python -m kairos.fsm.render`. Do not edit.

export const State = {
  scheduled: "scheduled",
  pending: "pending",
  running: "running",
  waiting: "waiting",
  success: "success",
  failed: "failed",
  cancelled: "cancelled",
  expired: "expired",
} as const;

export type JobState = keyof typeof State;

export const STATES = Object.values(State) as readonly JobState[];
export const INITIAL: readonly JobState[] = ["scheduled", "pending"];
export const TERMINAL: readonly JobState[] = ["success", "failed", "cancelled", "expired"];

export const LOOKS = {
  scheduled: { tone: "slate", glyph: "clock" },
  pending: { tone: "amber", glyph: "dots" },
  running: { tone: "blue", glyph: "spinner" },
  waiting: { tone: "violet", glyph: "envelope" },
  success: { tone: "green", glyph: "check" },
  failed: { tone: "red", glyph: "cross" },
  cancelled: { tone: "grey", glyph: "slash" },
  expired: { tone: "orange", glyph: "hourglass" },
} as const satisfies Record<JobState, { tone: string; glyph: string }>;

export type Tone = (typeof LOOKS)[JobState]["tone"];
export type Glyph = (typeof LOOKS)[JobState]["glyph"];

export type RequestPath =
  | "/api/jobs/{id}"
  | "/api/jobs/{id}/run-now"
  | "/api/jobs/{id}/snooze"
  | "/api/jobs/{id}/retry"
  | "/api/jobs/{id}/signals"
  | "/api/jobs/{id}/cancel";
export type BulkVerb =
  | "run-now"
  | "snooze"
  | "retry"
  | "cancel"
  | "delete";

// What a client may ask of a job; `from` are the states that allow it, `fields` what may be given with it, `bulk` its
// name in a bulk request.
export type JobRequest = {
  name: string; label: string; effect: string; done: string; from: readonly JobState[]; scope: "enqueue" | "operate";
  method: string; path: RequestPath; fields: readonly string[]; bulk: BulkVerb | null; dangerous: boolean;
};

export const REQUESTS: readonly JobRequest[] = [
  {"name": "edit", "label": "Change", "effect": "What is left out stays as it is.", "done": "changed", "from": ["scheduled", "pending"], "scope": "operate", "method": "PATCH", "path": "/api/jobs/{id}", "fields": ["priority", "queue", "tags", "run_at", "ttl", "expires_at"], "bulk": null, "dangerous": false},
  {"name": "run_now", "label": "Run now", "effect": "It is due now instead of later.", "done": "brought forward", "from": ["scheduled"], "scope": "operate", "method": "POST", "path": "/api/jobs/{id}/run-now", "fields": [], "bulk": "run-now", "dangerous": false},
  {"name": "snooze", "label": "Snooze", "effect": "It is due later. When it expires does not change.", "done": "snoozed", "from": ["scheduled", "pending"], "scope": "operate", "method": "POST", "path": "/api/jobs/{id}/snooze", "fields": ["delay", "until", "reason"], "bulk": "snooze", "dangerous": false},
  {"name": "retry", "label": "Retry", "effect": "A new job does the same again, and names the old one.", "done": "retried", "from": ["success", "failed", "cancelled", "expired"], "scope": "operate", "method": "POST", "path": "/api/jobs/{id}/retry", "fields": [], "bulk": "retry", "dangerous": false},
  {"name": "signal", "label": "Signal", "effect": "A job that waits for the signal goes on; any other keeps it in its inbox.", "done": "sent a signal", "from": ["scheduled", "pending", "running", "waiting"], "scope": "enqueue", "method": "POST", "path": "/api/jobs/{id}/signals", "fields": ["name", "payload", "dedup_key"], "bulk": null, "dangerous": false},
  {"name": "cancel", "label": "Cancel", "effect": "A job that waits ends at once and never runs; a running one is asked to stop at its next checkpoint.", "done": "cancelled", "from": ["scheduled", "pending", "running", "waiting"], "scope": "operate", "method": "POST", "path": "/api/jobs/{id}/cancel", "fields": ["reason"], "bulk": "cancel", "dangerous": true},
  {"name": "delete", "label": "Delete", "effect": "Its input, output, log and history are gone for good.", "done": "deleted", "from": ["success", "failed", "cancelled", "expired"], "scope": "operate", "method": "DELETE", "path": "/api/jobs/{id}", "fields": [], "bulk": "delete", "dangerous": true},
];

export type Transition = { verb: string; from: JobState; to: JobState; by: string; because: string };

export const TRANSITIONS: readonly Transition[] = [
  {"verb": "pick", "from": "pending", "to": "running", "by": "worker", "because": "a worker took the lease"},
  {"verb": "next", "from": "running", "to": "pending", "by": "worker", "because": "the step returned Next"},
  {"verb": "replay", "from": "running", "to": "scheduled", "by": "worker", "because": "the step returned Replay"},
  {"verb": "fail", "from": "running", "to": "failed", "by": "worker", "because": "the attempt raised an error"},
  {"verb": "retry", "from": "failed", "to": "scheduled", "by": "worker", "because": "its error was answered with another attempt"},
  {"verb": "await", "from": "running", "to": "waiting", "by": "worker", "because": "the step returned Await"},
  {"verb": "done", "from": "running", "to": "success", "by": "worker", "because": "the step returned Done"},
  {"verb": "stop", "from": "running", "to": "failed", "by": "worker", "because": "the step returned Stop, or its attempts are spent"},
  {"verb": "yield", "from": "running", "to": "cancelled", "by": "worker", "because": "the step honoured a cancel request"},
  {"verb": "reap", "from": "running", "to": "pending", "by": "reaper", "because": "the lease expired"},
  {"verb": "release", "from": "running", "to": "pending", "by": "worker", "because": "the worker handed it back unrun"},
  {"verb": "wake", "from": "waiting", "to": "pending", "by": "sender", "because": "an awaited signal arrived"},
  {"verb": "timeout", "from": "waiting", "to": "pending", "by": "sweeper", "because": "the deadline of the await passed"},
  {"verb": "cancel", "from": "scheduled", "to": "cancelled", "by": "client", "because": "it was cancelled before it ran"},
  {"verb": "cancel", "from": "pending", "to": "cancelled", "by": "client", "because": "it was cancelled before it ran"},
  {"verb": "cancel", "from": "waiting", "to": "cancelled", "by": "client", "because": "it was cancelled before it ran"},
  {"verb": "run_now", "from": "scheduled", "to": "pending", "by": "client", "because": "its time was brought forward"},
  {"verb": "snooze", "from": "scheduled", "to": "scheduled", "by": "client", "because": "it was put off by a person"},
  {"verb": "snooze", "from": "pending", "to": "scheduled", "by": "client", "because": "it was put off by a person"},
  {"verb": "expire", "from": "scheduled", "to": "expired", "by": "sweeper", "because": "its TTL closed before a worker took it"},
  {"verb": "expire", "from": "pending", "to": "expired", "by": "sweeper", "because": "its TTL closed before a worker took it"},
];
