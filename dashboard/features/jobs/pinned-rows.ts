"use client";

import { useEffect, useMemo, useRef, useState } from "react";
import type { Job } from "@/lib/documents";

export type Row = { job: Job; gone: boolean };
export type PinnedRows = { rows: Row[]; fresh: number; release: () => void };

/**
 * The rows to show. While the list is hovered, focused or has a selection (`holds`), its jobs keep their places: they are
 * updated where they stand, and newer jobs are only counted.
 */
export function usePinnedRows(latest: readonly Job[] | undefined, holds: boolean, page: string): PinnedRows {
  const kept = useRef<{ page: string; jobs: readonly Job[] }>({ page, jobs: [] });
  const [version, render] = useState(0);
  const same = kept.current.page === page;
  const jobs = latest ?? [];
  const pinned = holds && same && kept.current.jobs.length > 0 && latest !== undefined;
  const rows = useMemo(() => pinnedRows(kept.current.jobs, jobs, pinned), [latest, pinned, page, version]);
  useEffect(() => {
    kept.current = { page, jobs: rows.map((row) => row.job) };
  }, [rows, page]);
  const shown = new Set(rows.map((row) => String(row.job.id)));
  return {
    rows,
    fresh: pinned ? jobs.filter((job) => !shown.has(String(job.id))).length : 0,
    release: () => {
      kept.current = { page, jobs: [...jobs] };
      render((times) => times + 1);
    },
  };
}

/** The kept jobs as they are now; one that the filter no longer finds is said to be gone. */
export function pinnedRows(kept: readonly Job[], latest: readonly Job[], pinned: boolean): Row[] {
  if (!pinned) return latest.map((job) => ({ job, gone: false }));
  const now = new Map(latest.map((job) => [String(job.id), job]));
  const oldest = latest.at(-1);
  return kept.map((job) => {
    const fresh = now.get(String(job.id));
    // A job below the oldest row was pushed off the page by newer ones; above it, it no longer matches.
    const gone = !fresh && (oldest === undefined || BigInt(job.id) >= BigInt(oldest.id));
    return { job: fresh ?? job, gone };
  });
}
