"use client";

import Link from "next/link";
import { useRouter } from "next/navigation";
import { jobHref } from "@/lib/address";
import type { Job } from "@/lib/documents";
import { useKeys, useRows } from "@/lib/keyboard";
import { INITIAL } from "@/lib/lifecycle.gen";
import { useHasSteps } from "@/lib/machines";
import { StateMark, ran } from "@/ui/state";
import { Time, Took } from "@/ui/time";
import type { Selection } from "./selection";

export function JobTable({ jobs, selection }: { jobs: readonly Job[]; selection: Selection | null }) {
  const router = useRouter();
  const hasSteps = useHasSteps();
  const current = useRows(jobs.length, (index) => router.push(jobHref(jobs[index]!.id)));
  const select = (through: boolean) => jobs[current] && selection?.toggle(jobs[current], through);
  useKeys({ x: () => select(false), X: () => select(true), Escape: () => selection?.clear() });
  return (
    <table className="table table-stack">
      <thead>
        <tr>
          {selection && <th scope="col" className="pick"><Pick name="Select all on this page" on={jobs.every(selection.has)} some={selection.jobs.length > 0} set={() => selection.all(!jobs.every(selection.has))} /></th>}
          <th scope="col" className="w-32">State</th>
          <th scope="col" className="number w-24">Job</th>
          <th scope="col">Action</th>
          <th scope="col">Queue</th>
          <th scope="col">Key and tags</th>
          <th scope="col" className="w-28">Due</th>
          <th scope="col" className="number w-24">Ran for</th>
          <th scope="col" className="number w-28">Accepted</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job, index) => (
          <tr key={String(job.id)} data-row data-current={index === current} aria-current={index === current || undefined} data-selected={selection?.has(job)}>
            {selection && <td className="pick"><Pick name={`Select job ${job.id}`} on={selection.has(job)} set={(through) => selection.toggle(job, through)} /></td>}
            <td><StateMark state={job.state} /></td>
            <td className="number"><Link prefetch={false} href={jobHref(job.id)} className="link">{job.id}</Link></td>
            <td className="max-w-80"><Action job={job} showStep={hasSteps(job.action)} /></td>
            <td className="max-w-40 truncate text-muted">{job.queue}</td>
            <td className="max-w-56 text-muted"><Marks job={job} /></td>
            <td>{INITIAL.includes(job.state) && <Time at={job.runAt} />}</td>
            <td className="number" data-label={ran(job) ? "ran for" : undefined}>{ran(job) && <Took from={job.startedAt} to={job.completedAt} />}</td>
            <td className="end number text-muted"><Time at={job.createdAt} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A checkbox that fills its cell, so that a thumb hits it. */
function Pick({ name, on, some = false, set }: { name: string; on: boolean; some?: boolean; set: (through: boolean) => void }) {
  return (
    <label className="grid size-full justify-center pt-2.5 select-none">
      <input type="checkbox" aria-label={name} checked={on} ref={(box) => { if (box) box.indeterminate = some && !on; }} onChange={(event) => set((event.nativeEvent as MouseEvent).shiftKey === true)} />
    </label>
  );
}

function Action({ job, showStep }: { job: Job; showStep: boolean }) {
  return (
    <span className="block min-w-0">
      <span className="block truncate font-medium" title={job.action}>
        {job.action}
        {showStep && <span className="font-normal text-muted"> · {job.step}</span>}
        {job.attempt > 0 && <span className="font-normal text-muted"> · attempt {job.attempt + 1}</span>}
      </span>
      {job.error && <span className="tone tone-red block truncate text-12" title={job.error.message}>{job.error.message}</span>}
    </span>
  );
}

function Marks({ job }: { job: Job }) {
  if (!job.key && job.tags.length === 0) return null;
  return (
    <span className="flex flex-wrap gap-1 text-12">
      {job.key && <span className="max-w-full truncate font-mono" title={job.key}>{job.key}</span>}
      {job.tags.map((tag, index) => <span key={index} className="max-w-full truncate rounded bg-sunk px-1.5 leading-5">{tag}</span>)}
    </span>
  );
}
