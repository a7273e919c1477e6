"use client";

import type { Change, Job } from "@/lib/documents";
import { visible, visibleLine } from "@/lib/visible-text";
import { StateMark } from "@/ui/state";
import { Time, Took } from "@/ui/time";
import { bySequence } from "./waterfall";

/** Every committed change of the job, newest first; it begins with its acceptance, which the job itself tells. */
export function Timeline({ history, job }: { history: readonly Change[]; job: Job }) {
  return (
    <ol className="divide-y text-13" data-testid="timeline">
      {bySequence(history)
        .reverse()
        .map((change) => (
          <li
            key={String(change.id)}
            className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1 px-4 py-2.5 sm:grid-cols-[112px_1fr_auto]"
          >
            <StateMark state={change.to} />
            <span className="col-span-2 row-start-2 min-w-0 sm:col-span-1 sm:row-start-auto">
              <code className="font-medium">{change.verb}</code>
              <span className="text-muted">
                {" "}
                {visibleLine(change.step)}
                {change.attempt > 0 ? `, attempt ${change.attempt + 1}` : ""}
                {change.actor ? `, by ${visibleLine(change.actor)}` : ""}
              </span>
              {change.startedAt && (
                <span className="text-muted">
                  {" "}
                  · ran <Took from={change.startedAt} to={change.at} />
                </span>
              )}
              {change.reason && (
                <span className="mt-0.5 block max-h-24 overflow-y-auto break-words whitespace-pre-wrap">
                  {visible(change.reason)}
                </span>
              )}
            </span>
            <span className="text-right text-muted">
              <Time at={change.at} />
            </span>
          </li>
        ))}
      <li className="grid grid-cols-[1fr_auto] gap-x-4 px-4 py-2.5 sm:grid-cols-[112px_1fr_auto]">
        <span className="font-medium text-muted">accepted</span>
        <span className="col-span-2 row-start-2 min-w-0 break-words text-muted sm:col-span-1 sm:row-start-auto">
          {job.schedule
            ? `from the schedule ${visibleLine(job.schedule)}`
            : job.createdBy
              ? `by ${visibleLine(job.createdBy)}`
              : ""}
        </span>
        <span className="text-right text-muted">
          <Time at={job.createdAt} />
        </span>
      </li>
    </ol>
  );
}
