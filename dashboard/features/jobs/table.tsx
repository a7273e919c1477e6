"use client";

import Link from "next/link";
import { useRouter } from "next/navigation";
import { jobHref } from "@/lib/address";
import type { Job } from "@/lib/documents";
import { useRows } from "@/lib/keyboard";
import { useHasSteps } from "@/lib/steps";
import { StateMark, isTerminal } from "@/ui/state";
import { Time, Took } from "@/ui/time";

export function JobTable({ jobs }: { jobs: readonly Job[] }) {
  const router = useRouter();
  const hasSteps = useHasSteps();
  const current = useRows(jobs.length, (index) => router.push(jobHref(jobs[index]!.id)));
  return (
    <table className="table table-stack">
      <thead>
        <tr>
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
          <tr key={String(job.id)} data-row data-current={index === current} aria-current={index === current || undefined}>
            <td><StateMark state={job.state} /></td>
            <td className="number"><Link prefetch={false} href={jobHref(job.id)} className="link">{job.id}</Link></td>
            <td className="max-w-80"><Action job={job} showStep={hasSteps(job.action)} /></td>
            <td className="max-w-40 truncate text-muted">{job.queue}</td>
            <td className="max-w-56 text-muted"><Marks job={job} /></td>
            <td>{isTerminal(job.state) || job.startedAt ? null : <Time at={job.runAt} />}</td>
            <td className="number" data-label={job.startedAt ? "ran for" : undefined}>{job.startedAt && <Took from={job.startedAt} to={job.completedAt} />}</td>
            <td className="number text-muted"><Time at={job.createdAt} /></td>
          </tr>
        ))}
      </tbody>
    </table>
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
      {job.tags.map((tag, index) => <span key={index} className="max-w-full truncate rounded bg-sunk px-1.5">{tag}</span>)}
    </span>
  );
}
