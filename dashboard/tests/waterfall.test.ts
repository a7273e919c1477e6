import { expect, test } from "vitest";
import { ranFor, sayLane, waterfallOf } from "@/features/job/waterfall";
import type { Change, Job } from "@/lib/documents";
import { State } from "@/lib/lifecycle.gen";

const BEGIN = Date.parse("2026-01-02T00:00:00Z");
const at = (ms: number) => new Date(BEGIN + ms).toISOString();

let sequence = 0;
const change = (verb: string, to: Change["to"], ended: number, more: Partial<Change> = {}): Change => ({
  id: ++sequence,
  verb,
  from: State.running,
  to,
  step: "charge",
  attempt: 0,
  worker: "w1",
  actor: null,
  reason: null,
  dueAt: null,
  state: null,
  startedAt: null,
  at: at(ended),
  ...more,
});
const job = (more: Partial<Job>): Job =>
  ({
    createdAt: at(0),
    runAt: at(0),
    startedAt: at(10),
    completedAt: null,
    step: "charge",
    attempt: 0,
    awaits: [],
    ...more,
  }) as Job;

const RETRIED = [
  change("fail", State.failed, 110, { startedAt: at(10), reason: "TimeoutError: the bank" }),
  change("retry", State.scheduled, 110, { from: State.failed }),
  change("next", State.pending, 2300, { attempt: 1, startedAt: at(2100) }),
  change("await", State.waiting, 2310, { step: "confirm", startedAt: at(2300) }),
  change("wake", State.pending, 26_310, {
    from: State.waiting,
    step: "confirm",
    reason: "signal payment_confirmed",
  }),
  change("done", State.success, 26_400, { step: "confirm", startedAt: at(26_350) }),
];

test("each attempt of each step has a lane", () => {
  const { lanes } = waterfallOf(job({ state: State.success, completedAt: at(26_400) }), RETRIED, BEGIN + 1e6);
  expect(lanes.map((lane) => `${lane.step} ${lane.attempt + 1}`)).toEqual([
    "charge 1",
    "charge 2",
    "confirm 1",
  ]);
  expect(lanes[0]!.reason).toBe("TimeoutError: the bank");
});

test("a lane says in words where its time went", () => {
  const { lanes } = waterfallOf(job({ state: State.success, completedAt: at(26_400) }), RETRIED, BEGIN + 1e6);
  expect(sayLane(lanes[0]!)).toBe("ran 100 ms, queued 10 ms");
  expect(sayLane(lanes[1]!)).toBe("ran 200 ms, backed off 1.9 s");
  expect(sayLane(lanes[2]!)).toBe("ran 60 ms, waited 24 s for payment_confirmed, queued 40 ms");
});

test("a lane that is not due yet says how long it has been so", () => {
  const later = job({ state: State.scheduled, runAt: at(3_600_000), startedAt: null });
  expect(sayLane(waterfallOf(later, [], BEGIN + 120_000).lanes[0]!)).toBe("has been scheduled for 2 min");
  const started = [
    change("done", State.success, 3_600_100, { startedAt: at(3_600_000), dueAt: at(3_600_000) }),
  ];
  const ended = job({ state: State.success, runAt: at(3_600_000), completedAt: at(3_600_100) });
  expect(sayLane(waterfallOf(ended, started, BEGIN + 1e7).lanes[0]!)).toBe(
    "ran 100 ms, was scheduled for 1 h",
  );
});

test("waiting and backing off are not running", () => {
  const drawn = waterfallOf(job({ state: State.success, completedAt: at(26_400) }), RETRIED, BEGIN + 1e6);
  expect(ranFor(drawn)).toBe(100 + 200 + 10 + 50);
});

test("a running job's last piece is open and ends now", () => {
  const { lanes, live, end } = waterfallOf(job({ state: State.running }), [], BEGIN + 5000);
  expect(live).toBe(true);
  expect(end).toBe(BEGIN + 5000);
  expect(lanes[0]!.pieces.at(-1)).toMatchObject({
    kind: "ran",
    from: BEGIN + 10,
    to: BEGIN + 5000,
    open: true,
  });
});

test("a waiting job says what it waits for", () => {
  const waits = job({ state: State.waiting, step: "confirm", awaits: ["paid", "refused"] });
  const { lanes } = waterfallOf(waits, RETRIED.slice(0, 4), BEGIN + 4310);
  expect(sayLane(lanes[2]!, waits.awaits)).toBe("ran 10 ms, waiting 2.0 s for paid or refused");
});

test("time before a job is due is separate from time in the queue", () => {
  const history = [change("done", State.success, 9100, { startedAt: at(9000), dueAt: at(8000) })];
  const { lanes } = waterfallOf(job({ state: State.success, completedAt: at(9100) }), history, BEGIN + 1e6);
  expect(lanes[0]!.pieces.map((piece) => [piece.kind, piece.to - piece.from])).toEqual([
    ["due", 8000],
    ["queued", 1000],
    ["ran", 100],
  ]);
});
