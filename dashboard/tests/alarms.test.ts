import { expect, test } from "vitest";
import { worstFirst } from "@/features/alarms/order";
import { remediesOf } from "@/features/alarms/remedies";
import type { Alarm } from "@/lib/documents";

test("alarms come worst first, the latest of them before others", () => {
  const alarm = (id: number, severity: string, minute: number, acknowledged = false) =>
    ({
      id,
      severity,
      lastAt: `2026-01-02T00:0${minute}:00Z`,
      acknowledgedAt: acknowledged ? "x" : null,
    }) as Alarm;
  const order = worstFirst([
    alarm(1, "warning", 1),
    alarm(2, "error", 1),
    alarm(3, "error", 2, true),
    alarm(4, "warning", 5),
  ]);
  expect(order.map((each) => each.id)).toEqual([2, 4, 1, 3]);
});

test("an alarm leads to the jobs of its action, whatever their version", () => {
  const [first] = remediesOf({ kind: "action_unknown", subject: "ship@now@2" });
  expect(first).toMatchObject({ href: "/jobs/?state=pending&action=ship%40now" });
});

test("an alarm without a subject leads somewhere as well", () => {
  for (const kind of ["retention_behind", "ledger_unbalanced", "check_failed"] as const)
    expect(remediesOf({ kind, subject: "" })).not.toEqual([]);
});

test("the first remedy is a place to look, and what can be done about it follows", () => {
  const labels = (kind: Alarm["kind"]) => remediesOf({ kind, subject: "s" }).map((each) => each.label);
  expect(labels("jobs_failed")).toEqual(["Errors", "Failed jobs", "Retry all…"]);
  expect(labels("ticks_missed")).toEqual(["Schedule", "Backfill…"]);
  expect(labels("schedule_paused")).toEqual(["Schedule", "Resume"]);
  expect(labels("webhook_undeliverable")).toEqual(["Webhooks", "Send a test"]);
  expect(labels("key_held_up")).toEqual(["Running job", "Pending jobs"]);
});
