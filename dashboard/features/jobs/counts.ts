"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { get } from "@/lib/api";
import { count, countOf } from "@/lib/format";
import type { JobState } from "@/lib/lifecycle.gen";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";
import { asQuery, type Filter, isSet } from "./filter";

/** How many jobs of each state the other filters let through. */
export function useCounts(filter: Filter): (state: JobState) => string {
  const enabled = useMaybeSignedIn();
  const others = { ...filter, state: [] };
  const filtered = isSet(others);
  const stats = useQuery({
    queryKey: keys.stats,
    queryFn: () => get("/api/stats"),
    enabled: enabled && !filtered,
  });
  const counted = useQuery({
    queryKey: keys.jobCounts(asQuery(others)),
    queryFn: ({ signal }) => get("/api/jobs/counts", { query: asQuery(others), signal }),
    enabled: enabled && filtered,
    placeholderData: keepPreviousData,
  });
  if (!filtered) return (state) => (stats.data ? countOf(stats.data.stats, state) : "");
  const { counts, atLeast } = counted.data ?? {};
  return (state) =>
    counts ? count(counts[state] ?? 0) + (atLeast?.some((each) => each === state) ? "+" : "") : "";
}
