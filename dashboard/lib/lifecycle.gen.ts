// Rendered from kairos/fsm/lifecycle.py by `python -m kairos.fsm.render`. Do not edit.

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

// What a person may ask of a job in each state.
export const CAN: Record<JobState, readonly string[]> = {
  scheduled: ["cancel", "run_now", "signal"],
  pending: ["cancel", "signal"],
  running: ["cancel", "signal"],
  waiting: ["cancel", "signal"],
  success: ["retry"],
  failed: ["retry"],
  cancelled: ["retry"],
  expired: ["retry"],
};

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
  {"verb": "expire", "from": "scheduled", "to": "expired", "by": "sweeper", "because": "its TTL closed before a worker took it"},
  {"verb": "expire", "from": "pending", "to": "expired", "by": "sweeper", "because": "its TTL closed before a worker took it"},
];
