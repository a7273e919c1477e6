"use client";

import { useEffect } from "react";
import { go, jobHref } from "@/lib/address";
import type { Job } from "@/lib/documents";
import { useKeys, useRows } from "@/lib/keyboard";
import { INITIAL } from "@/lib/lifecycle.gen";
import { useHasSteps } from "@/lib/machines";
import { visibleLine } from "@/lib/visible-text";
import { Link } from "@/ui/link";
import { ran, StateMark } from "@/ui/state";
import { Time, Took } from "@/ui/time";
import type { Row } from "./pinned-rows";
import { preview } from "./preview";
import type { Selection } from "./selection";

type Props = {
  rows: readonly Row[];
  selection: Selection | null;
  onCursor: (set: boolean) => void;
  /** The arguments that the list is filtered by. */
  filters: readonly string[];
};

export function JobTable({ rows, selection, onCursor, filters }: Props) {
  const hasSteps = useHasSteps();
  const jobs = rows.map((row) => row.job);
  const { current, clear } = useRows(
    jobs.map((job) => String(job.id)),
    (id) => go(jobHref(id)),
  );
  useEffect(() => onCursor(current !== null), [current, onCursor]);
  const select = (through: boolean) => {
    const job = jobs.find((each) => String(each.id) === current);
    if (job) selection?.toggle(job, through);
  };
  useKeys({
    x: () => select(false),
    X: () => select(true),
    Escape: () => {
      selection?.clear();
      clear();
    },
  });
  return (
    <table className="table table-stack table-fixed">
      <colgroup>
        {selection && <col className="w-10" />}
        <col className="w-30" />
        <col className="w-24 sm:max-xl:w-20" />
        <col />
        <col className="w-[10%] sm:max-xl:hidden" />
        <col className="w-[15%] sm:max-xl:w-[15%] sm:max-md:hidden" />
        <col className="w-30 sm:max-xl:w-28" />
        <col className="w-34 sm:max-xl:w-30" />
      </colgroup>
      <thead>
        <tr>
          {selection && (
            <th scope="col" className="pick">
              <Pick
                name="Select all on this page"
                on={jobs.every(selection.has)}
                some={selection.jobs.length > 0}
                set={() => selection.all(!jobs.every(selection.has))}
              />
            </th>
          )}
          <th scope="col">State</th>
          <th scope="col" className="number">
            Job
          </th>
          <th scope="col">Action and arguments</th>
          <th scope="col" className="sm:max-xl:hidden">
            Queue
          </th>
          <th scope="col" className="sm:max-md:hidden">
            Key and tags
          </th>
          <th
            scope="col"
            className="number"
            title="When it is due; once it started, the time from its first start to its end, waits and retries included"
          >
            Due or took
          </th>
          <th scope="col" className="number">
            Accepted
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ job, gone }, place) => (
          <tr
            key={place} // a newer job takes the place of the one before it: the document itself does not move
            data-row
            data-current={String(job.id) === current}
            aria-current={String(job.id) === current || undefined}
            data-selected={selection?.has(job)}
            data-gone={gone || undefined}
            className="relative"
          >
            {selection && (
              <td className="pick">
                <Pick
                  name={`Select job ${job.id}`}
                  on={selection.has(job)}
                  set={(through) => selection.toggle(job, through)}
                />
              </td>
            )}
            <td>
              <StateMark state={job.state} />
            </td>
            <td className="number">
              <Link href={jobHref(job.id)} className="link row-link">
                {job.id}
              </Link>
            </td>
            <td className="whole">
              <Action job={job} showStep={hasSteps(job.action)} filters={filters} />
            </td>
            <td className="truncate text-muted sm:max-xl:hidden" title={visibleLine(job.queue)}>
              {visibleLine(job.queue)}
            </td>
            <td className="text-muted sm:max-md:hidden">
              <Marks job={job} />
            </td>
            <td className="number" data-label={waits(job) ? "due" : ran(job) ? "took" : undefined}>
              {waits(job) ? (
                <Time at={job.runAt} />
              ) : (
                ran(job) && <Took from={job.startedAt} to={job.completedAt} />
              )}
            </td>
            <td className="end number text-muted">
              <Time at={job.createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const waits = (job: Job) => INITIAL.includes(job.state);

/** A checkbox that fills its cell, so that a thumb hits it. */
function Pick({
  name,
  on,
  some = false,
  set,
}: {
  name: string;
  on: boolean;
  some?: boolean;
  set: (through: boolean) => void;
}) {
  return (
    <label className="grid size-full justify-center pt-2.5 select-none">
      <input
        type="checkbox"
        aria-label={name}
        checked={on}
        ref={(box) => {
          if (box) box.indeterminate = some && !on;
        }}
        onChange={(event) => set((event.nativeEvent as MouseEvent).shiftKey === true)}
      />
    </label>
  );
}

/** What runs, with which arguments; two lines that keep their height whatever they say. */
function Action({ job, showStep, filters }: { job: Job; showStep: boolean; filters: Props["filters"] }) {
  const said = preview(job.input, filters);
  return (
    <span className="block min-w-0">
      <span className="block truncate font-medium" title={visibleLine(job.action)}>
        {visibleLine(job.action)}
        {showStep && <span className="font-normal text-muted"> · {visibleLine(job.step)}</span>}
        {job.attempt > 0 && <span className="font-normal text-muted"> · attempt {job.attempt + 1}</span>}
        {job.error && said && (
          <span className="text-12 font-normal text-muted" title={said}>
            {" "}
            · {said}
          </span>
        )}
      </span>
      {job.error ? (
        <span className="tone tone-red block truncate text-12" title={visibleLine(job.error.message)}>
          {visibleLine(job.error.message)}
        </span>
      ) : (
        <span className="block truncate text-12 text-muted" title={said}>
          {said || "\u00a0"}
        </span>
      )}
    </span>
  );
}

function Marks({ job }: { job: Job }) {
  if (!job.key && job.tags.length === 0) return null;
  return (
    <span className="flex max-h-10 flex-wrap gap-1 overflow-hidden text-12">
      {job.key && (
        <span className="max-w-full truncate font-mono" title={visibleLine(job.key)}>
          {visibleLine(job.key)}
        </span>
      )}
      {job.tags.map((tag, index) => (
        <span key={index} className="max-w-full truncate rounded bg-sunk px-1.5 leading-5">
          {visibleLine(tag)}
        </span>
      ))}
    </span>
  );
}
