"use client";

import { useQuery } from "@tanstack/react-query";
import { jobsHref } from "@/lib/address";
import { get } from "@/lib/api";
import type { Job } from "@/lib/documents";
import { plural } from "@/lib/format";
import { State } from "@/lib/lifecycle.gen";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";
import { Link } from "@/ui/link";

/** Leads to the jobs that failed in the same place with the same exception, and says how many they are. */
export function SameError({ job }: { job: Job }) {
  const enabled = useMaybeSignedIn();
  const fingerprint = job.error?.fingerprint ?? null;
  const { data } = useQuery({
    queryKey: keys.errors({ action: job.action }),
    queryFn: ({ signal }) => get("/api/errors", { query: { action: job.action }, signal }),
    enabled: enabled && fingerprint !== null,
    refetchInterval: false,
  });
  if (fingerprint === null) return null;
  const group = data?.errors.find((each) => each.fingerprint === fingerprint);
  return (
    <Link href={jobsHref({ error: fingerprint, state: State.failed })} className="link">
      {group ? `${plural(group.count, "job")} with this error` : "Jobs with this error"}
    </Link>
  );
}
