"use client";

import { scheduleHref } from "@/lib/address";
import type { Stats } from "@/lib/documents";
import { visibleLine } from "@/lib/visible-text";
import { Empty } from "@/ui/answer";
import { Link } from "@/ui/link";
import { Time } from "@/ui/time";

export function Next({ stats }: { stats: Stats }) {
  if (stats.next.length === 0) {
    return (
      <Empty title="There is no schedule yet.">
        <Link href="/schedules/?new=" className="link">
          Create a schedule
        </Link>
      </Empty>
    );
  }
  return (
    <ul className="divide-y text-13">
      {stats.next.slice(0, 10).map((each) => (
        <li key={each.schedule + each.at} className="flex items-center justify-between gap-4 px-4 py-2.5">
          <Link href={scheduleHref(each.schedule)} className="link min-w-0 truncate">
            {visibleLine(each.schedule)}
          </Link>
          <span className="text-muted">
            <Time at={each.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
