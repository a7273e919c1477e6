"use client";

import { jobHref } from "@/lib/address";
import type { Schedule, Tick } from "@/lib/documents";
import { exact, ownZone } from "@/lib/time";
import { Empty } from "@/ui/answer";
import { Link } from "@/ui/link";
import { Table } from "@/ui/table";
import { Time } from "@/ui/time";

/** The zone that it fires in: the one that its text names, as its sentence says, or else its own. */
export const zoneOf = ({ sentence, tz }: Schedule) =>
  /\(([\w+-]+(?:\/[\w+-]+)*)\)$/.exec(sentence)?.[1] ?? tz;

/** When it fires next, in its own zone and in yours. */
export function Upcoming({ schedule }: { schedule: Schedule }) {
  if (schedule.nextTicks.length === 0) return <Empty title="It never fires again." />;
  const own = ownZone();
  const zone = zoneOf(schedule);
  return (
    <Table className="" columns={["Due", zone, ...(own !== zone ? [`${own} (yours)`] : [])]}>
      {schedule.nextTicks.map((tick) => (
        <tr key={tick}>
          <td>
            <Time at={tick} />
          </td>
          <td className="whitespace-nowrap">{exact(tick, zone)}</td>
          {own !== zone && <td className="whitespace-nowrap text-muted">{exact(tick)}</td>}
        </tr>
      ))}
    </Table>
  );
}

/** What came of the ticks that have passed. */
export function Past({ ticks }: { ticks: readonly Tick[] }) {
  if (ticks.length === 0) return <Empty title="It has not fired yet." />;
  return (
    <Table className="" columns={["Tick", "Result"]}>
      {ticks.map((tick) => (
        <tr key={tick.tickAt + String(tick.job)}>
          <td>
            <Time at={tick.tickAt} />
          </td>
          <td>
            {tick.job ? (
              <>
                job{" "}
                <Link className="link" href={jobHref(tick.job)}>
                  {tick.job}
                </Link>
              </>
            ) : (
              <span className="text-muted">{tick.skipped ?? "nothing"}</span>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
