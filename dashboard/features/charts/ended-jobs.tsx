"use client";

import { useQuery } from "@tanstack/react-query";
import { jobHref } from "@/lib/address";
import { get } from "@/lib/api";
import { LOOKS } from "@/lib/lifecycle.gen";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";
import { relative, span } from "@/lib/time";
import { Glyph } from "@/ui/glyph";
import { Link } from "@/ui/link";
import type { Scope } from "./series";

/** How the last twenty jobs ended, the newest at the right. */
export function EndedJobs({ scope }: { scope: Scope }) {
  const enabled = useMaybeSignedIn();
  const { data } = useQuery({
    queryKey: keys.endedJobs(scope),
    queryFn: ({ signal }) => get("/api/stats/outcomes", { query: { ...scope, limit: 20 }, signal }),
    enabled,
  });
  if (!data) return null;
  if (data.outcomes.length === 0) return <span className="text-12 text-muted">no job has ended yet</span>;
  const oldestFirst = [...data.outcomes].sort(
    (a, b) => Date.parse(a.completedAt) - Date.parse(b.completedAt),
  );
  return (
    <ul
      aria-label="The last jobs that ended"
      className="relative z-[1] grid w-full min-w-60 auto-cols-[minmax(0,1rem)] grid-flow-col gap-0.5"
    >
      {oldestFirst.map((each) => {
        const said = `Job ${each.id}: ${each.state} ${relative(each.completedAt)}${each.runMs === null ? "" : `, ran ${span(each.runMs)}`}`;
        return (
          <li key={String(each.id)}>
            <Link
              href={jobHref(each.id)}
              title={said}
              aria-label={said}
              className={`tone tone-soft tone-${LOOKS[each.state].tone} grid h-4 place-items-center rounded-sm`}
            >
              <Glyph name={LOOKS[each.state].glyph} size={10} />
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
