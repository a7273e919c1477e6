"use client";

import { jobsHref } from "@/lib/address";
import type { Stats } from "@/lib/documents";
import { countOf } from "@/lib/format";
import { STATES } from "@/lib/lifecycle.gen";
import { Link } from "@/ui/link";
import { StateMark } from "@/ui/state";

/** The states with their counts, where a diagram would be too small to read. */
export function StateTiles({ stats }: { stats: Stats | undefined }) {
  return (
    <ul className="grid grid-cols-2 gap-2">
      {STATES.map((state) => (
        <li key={state}>
          <Link
            href={jobsHref({ state })}
            data-node={state}
            className="flex h-full flex-wrap items-center justify-between gap-x-2 rounded-md border px-3 py-2 hover:bg-sunk"
          >
            <StateMark state={state} />
            <span className="text-16 font-semibold">{countOf(stats, state)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
