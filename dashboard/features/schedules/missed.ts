import { get, post } from "@/lib/api";
import type { Intent, Schedule, Tick } from "@/lib/documents";
import { now } from "@/lib/time";

export type Missed = { ticks: string[]; decided: number; more: boolean };

// An intent answers ten ticks at a time, so a long count is many questions: past this it is told as "more than".
const MOST = 1000;
const SOONER = (a: string, b: string) => Date.parse(a) - Date.parse(b);

/** The ticks in (start, end] that have passed and were never decided: what a backfill would fire. */
export async function missedTicks(
  schedule: Schedule,
  start: string,
  end: string,
  signal: AbortSignal,
): Promise<Missed> {
  const last = Math.min(Date.parse(end), now(), schedule.end ? Date.parse(schedule.end) : Infinity);
  const fires: string[] = [];
  let after: string | null =
    schedule.start && SOONER(schedule.start, start) > 0
      ? new Date(Date.parse(schedule.start) - 1).toISOString()
      : start;
  while (after && fires.length <= MOST) {
    const { intent }: { intent: Intent } = await post("/api/intent", {
      body: { when: schedule.sentence, tz: schedule.tz, now: after },
      signal,
    });
    const within = intent.ticks.filter((tick) => Date.parse(tick) <= last);
    fires.push(...within);
    after = within.length > 0 && within.length === intent.ticks.length ? within.at(-1)! : null;
  }
  const decided = await decidedSince(schedule.name, start, signal);
  const ticks = fires.filter((tick) => !decided.has(Date.parse(tick)));
  return { ticks: ticks.slice(0, MOST), decided: fires.length - ticks.length, more: fires.length > MOST };
}

async function decidedSince(name: string, start: string, signal: AbortSignal): Promise<Set<number>> {
  const found = new Set<number>();
  let cursor: string | null = null;
  do {
    const page: { ticks: Tick[]; nextCursor: string | null } = await get("/api/schedules/{name}/ticks", {
      path: { name },
      query: { limit: 1000, cursor },
      signal,
    });
    page.ticks.forEach((tick) => found.add(Date.parse(tick.tickAt)));
    const oldest = page.ticks.at(-1)?.tickAt;
    cursor = oldest && SOONER(oldest, start) > 0 ? page.nextCursor : null;
  } while (cursor);
  return found;
}
