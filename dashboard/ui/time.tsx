"use client";

import { exact, now, relative, span, useSecond } from "@/lib/time";

/** When something is or was, in relation to now; the exact time on hover. */
export function Time({ at, empty = "–" }: { at: string | null | undefined; empty?: string }) {
  useSecond();
  if (!at) return <span className="text-muted">{empty}</span>;
  return (
    <time dateTime={at} title={`${exact(at)} · ${at}`} className="whitespace-nowrap">
      {relative(at)}
    </time>
  );
}

/** How long it took, or how long it has been taking so far. */
export function Took({ from, to }: { from: string | null | undefined; to?: string | null }) {
  useSecond();
  if (!from) return <span className="text-muted">–</span>;
  const ms = (to ? Date.parse(to) : now()) - Date.parse(from);
  return (
    <span className="whitespace-nowrap" title={`${exact(from)}${to ? ` to ${exact(to)}` : ""}`}>
      {span(Math.max(0, ms))}
    </span>
  );
}
