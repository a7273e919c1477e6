import { readFileSync } from "node:fs";
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

test("an alarm of each kind leads to a page, with or without a subject, unless it is about Postgres", () => {
  const document = JSON.parse(readFileSync("../docs/reference/openapi.gen.json", "utf8"));
  const kinds: Alarm["kind"][] = document.components.schemas.Alarm.properties.kind.enum;
  for (const subject of ["", "s@1"]) {
    const nowhere = kinds.filter((kind) => !remediesOf({ kind, subject }).some((each) => "href" in each));
    expect(nowhere.sort()).toEqual([
      "replica_unusable",
      "standby_asynchronous",
      "transaction_open",
      "vacuum_behind",
    ]);
  }
});

test("an alarm about jobs leads to a list of them", () => {
  for (const kind of ["queue_unserved", "jobs_overdue", "jobs_waiting", "jobs_running_long"] as const)
    expect(
      remediesOf({ kind, subject: "s" }).some((each) => "href" in each && /^\/jobs\/\?/.test(each.href)),
    ).toBe(true);
});

test("the first remedy is a place to look, and what can be done about it follows", () => {
  const labels = (kind: Alarm["kind"]) => remediesOf({ kind, subject: "s" }).map((each) => each.label);
  expect(labels("jobs_failed")).toEqual(["Errors", "Failed jobs", "Retry all…"]);
  expect(labels("ticks_missed")).toEqual(["Schedule", "Backfill…"]);
  expect(labels("schedule_paused")).toEqual(["Schedule", "Resume"]);
  expect(labels("webhook_undeliverable")).toEqual(["Webhooks", "Send a test"]);
  expect(labels("key_held_up")).toEqual(["Running job", "Pending jobs"]);
});
