import type { Alarm } from "@/lib/documents";

const RANK: Record<string, number> = { error: 0, warning: 1 };
const rank = (alarm: Alarm) =>
  (alarm.clearedAt || alarm.acknowledgedAt ? 10 : 0) + (RANK[alarm.severity] ?? 2);

/** Open alarms before others, errors before warnings, the latest first. */
export const worstFirst = (alarms: readonly Alarm[]): Alarm[] =>
  [...alarms].sort((a, b) => rank(a) - rank(b) || Date.parse(b.lastAt) - Date.parse(a.lastAt));
