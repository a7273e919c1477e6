"use client";

import { jobHref } from "@/lib/address";
import type { Job } from "@/lib/documents";
import { useHasSteps } from "@/lib/machines";
import { visibleLine } from "@/lib/visible-text";
import { Empty } from "@/ui/answer";
import { Glyph } from "@/ui/glyph";
import { Link } from "@/ui/link";
import { Took } from "@/ui/time";

export function RunningNow({ jobs }: { jobs: readonly Job[] }) {
  const hasSteps = useHasSteps();
  if (jobs.length === 0) return <Empty title="Nothing runs right now." />;
  return (
    <ul className="divide-y text-13">
      {jobs.map((job) => (
        <li key={String(job.id)}>
          <Link
            href={jobHref(job.id)}
            className="grid grid-cols-[auto_1fr_auto] items-center gap-3 px-4 py-2.5 hover:bg-sunk"
          >
            <span className="tone tone-blue">
              <Glyph name="spinner" />
            </span>
            <span className="min-w-0 truncate">
              <span className="font-medium">{visibleLine(job.action)}</span>
              {hasSteps(job.action) && <span className="text-muted"> · {visibleLine(job.step)}</span>}
              <span className="text-muted"> · {job.id}</span>
            </span>
            <span className="flex items-center gap-4 text-muted">
              {job.progress && (
                <progress
                  aria-label="Progress"
                  className="hidden w-24 sm:block"
                  value={Number(job.progress.done)}
                  max={Math.max(1, Number(job.progress.total))}
                />
              )}
              <span className="min-w-14 text-right">
                <Took from={job.startedAt} />
              </span>
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
