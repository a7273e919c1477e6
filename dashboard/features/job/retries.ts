"use client";

import { useQuery } from "@tanstack/react-query";
import { get } from "@/lib/api";
import type { Job } from "@/lib/documents";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";

/** The jobs that retry this one or run it again with changes, oldest first; more than a few are counted. */
export function useRetries(job: Job): { ids: string[]; more: boolean } {
  const enabled = useMaybeSignedIn();
  const { data } = useQuery({
    queryKey: keys.retries(job.id),
    queryFn: ({ signal }) => get("/api/jobs", { query: { retryOf: job.id, limit: 5 }, signal }),
    enabled,
  });
  const ids = (data?.jobs ?? []).map((each) => String(each.id)).reverse();
  return { ids, more: !!data?.nextCursor };
}
