// Where the time of a job went, worked out from its history: a lane for each attempt of each step.

import type { Change, Job } from "@/lib/documents";
import { State } from "@/lib/lifecycle.gen";
import { span } from "@/lib/time";

/** Ran: solid. Waited for a signal: hatched. Queued for a worker, or put off until it is due: thin. */
export type Kind = "ran" | "waited" | "queued" | "due";
export type Piece = { kind: Kind; from: number; to: number; open: boolean; for?: string };
export type Lane = {
  step: string;
  attempt: number;
  pieces: Piece[];
  /** How it came out: the verb of the last change, and what was said with it. */
  verb: string | null;
  to: Change["to"];
  reason: string | null;
  worker: string | null;
};
export type Waterfall = { begin: number; end: number; live: boolean; lanes: Lane[] };

/** Whether an attempt ended with an error, be it tried again or not. */
export const wasFailure = ({ verb }: { verb: string | null }) =>
  verb === "fail" || verb === "stop" || verb === "retry";

const time = (at: string) => Date.parse(at);
export const bySequence = (history: readonly Change[]) =>
  [...history].sort((a, b) => Number(a.id) - Number(b.id));

export function waterfallOf(job: Job, history: readonly Change[], now: number): Waterfall {
  const lanes: Lane[] = [];
  // Since when nothing of it ran, what it was doing since then, and when it would be due.
  let since = time(job.createdAt);
  let idle: Kind = "queued";
  let due: number | null = null;
  let lane: Lane | null = null;

  const laneFor = (change: Pick<Change, "step" | "attempt" | "to">): Lane => {
    if (lane && lane.step === change.step && lane.attempt === change.attempt) return lane;
    lane = {
      step: change.step,
      attempt: change.attempt,
      pieces: [],
      verb: null,
      to: change.to,
      reason: null,
      worker: null,
    };
    lanes.push(lane);
    return lane;
  };
  const rest = (into: Lane, until: number, open = false, reason?: string) => {
    if (idle === "waited")
      push(into, { kind: "waited", from: since, to: until, open, for: signalOf(reason) });
    else if (due !== null && due > since && due <= until) {
      push(into, { kind: "due", from: since, to: due, open: false });
      push(into, { kind: "queued", from: due, to: until, open });
    } else push(into, { kind: idle, from: since, to: until, open });
  };

  for (const change of bySequence(history)) {
    const at = time(change.at);
    const mine = laneFor(change);
    if (change.startedAt) {
      const started = Math.max(since, time(change.startedAt));
      if (change.dueAt) due = time(change.dueAt);
      rest(mine, started);
      push(mine, { kind: "ran", from: started, to: at, open: false });
    } else if (at > since)
      rest(mine, at, false, change.from === State.waiting ? (change.reason ?? "") : undefined);
    since = at;
    due = null;
    idle = change.to === State.waiting ? "waited" : change.to === State.scheduled ? "due" : "queued";
    if (change.verb !== "wake") {
      mine.verb = change.verb;
      mine.reason = change.reason ?? mine.reason;
    }
    mine.to = change.to;
    mine.worker = change.worker ?? mine.worker;
  }

  const live = !job.completedAt;
  if (live) {
    const mine = laneFor({ step: job.step, attempt: job.attempt, to: job.state });
    mine.to = job.state;
    if (job.state === State.running) {
      // When it was picked this time is in no history yet: at the earliest when it was due.
      const first =
        history.length === 0 && job.startedAt ? time(job.startedAt) : Math.max(since, time(job.runAt));
      const started = Math.min(first, now);
      due = Math.min(time(job.runAt), started);
      rest(mine, started);
      push(mine, { kind: "ran", from: started, to: now, open: true });
    } else {
      if (idle !== "waited") due = time(job.runAt);
      if (job.state === State.scheduled) idle = "due";
      rest(mine, now, true);
    }
  }
  const begin = time(job.createdAt);
  const end = Math.max(begin + 1, live ? now : Math.max(time(job.completedAt!), since));
  return { begin, end, live, lanes };
}

function push(lane: Lane, piece: Piece) {
  if (piece.to > piece.from || piece.open || piece.kind === "ran") lane.pieces.push(piece);
}

/** For how long anything of it ran, in milliseconds: waiting and backing off are not running. */
export const ranFor = ({ lanes }: Waterfall) =>
  total(
    lanes.flatMap((lane) => lane.pieces),
    "ran",
  );

const total = (pieces: readonly Piece[], kind: Kind) =>
  pieces.filter((piece) => piece.kind === kind).reduce((sum, piece) => sum + piece.to - piece.from, 0);

/** One lane in words: "ran 421 ms, waited 24 s for payment_confirmed". */
export function sayLane(lane: Lane, awaits: readonly string[] = []): string {
  const said: string[] = [];
  const has = (kind: Kind) => lane.pieces.some((piece) => piece.kind === kind);
  const running = lane.pieces.some((piece) => piece.kind === "ran" && piece.open);
  if (has("ran")) said.push(`${running ? "running for" : "ran"} ${span(total(lane.pieces, "ran"))}`);
  for (const piece of lane.pieces.filter((each) => each.kind === "waited")) {
    const signal = piece.for ?? (piece.open ? awaits.join(" or ") : "");
    said.push(
      `wait${piece.open ? "ing" : "ed"} ${span(piece.to - piece.from)}${signal ? ` for ${signal}` : ""}`,
    );
  }
  if (has("due")) {
    // How long it has been so, not how long it still is.
    const still = lane.pieces.some((piece) => piece.kind === "due" && piece.open);
    const [past, present] =
      lane.attempt > 0
        ? ["backed off", "has been backing off for"]
        : ["was scheduled for", "has been scheduled for"];
    said.push(`${still ? present : past} ${span(total(lane.pieces, "due"))}`);
  }
  if (total(lane.pieces, "queued") >= 1) said.push(`queued ${span(total(lane.pieces, "queued"))}`);
  return said.join(", ");
}

/** The signal that ended a wait, out of the reason of its change; nothing where the deadline did. */
function signalOf(reason: string | undefined): string | undefined {
  return reason?.startsWith("signal ") ? reason.slice("signal ".length) : undefined;
}
