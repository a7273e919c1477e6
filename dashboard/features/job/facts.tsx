"use client";

import Link from "next/link";
import { jobHref, jobsHref, scheduleHref } from "@/lib/address";
import type { Job } from "@/lib/documents";
import { Facts } from "@/ui/panel";
import { isTerminal, ran } from "@/ui/state";
import { Time, Took } from "@/ui/time";

type Row = readonly [string, React.ReactNode];

export function JobFacts({ job }: { job: Job }) {
  const rows: (Row | false | null)[] = [
    ["Number", <span key="id" data-testid="job-id">{job.id}</span>],
    ["Step", <>{job.step}{job.attempt > 0 && <span className="text-muted">, attempt {job.attempt + 1}</span>}</>],
    !!job.retry && ["Attempts", `${job.retry.attempts} at most`],
    ["Version", job.version],
    ["Queue", <Link key="queue" prefetch={false} className="link" href={jobsHref({ queue: job.queue })}>{job.queue}</Link>],
    ["Priority", job.priority],
    !!job.key && ["Key", <code key="key">{job.key}</code>],
    !!job.unique && ["Unique", <code key="unique">{job.unique}</code>],
    job.tags.length > 0 && ["Tags", <span key="tags" className="flex flex-wrap gap-1">{job.tags.map((tag, index) => <Link key={index} prefetch={false} href={jobsHref({ tag })} className="max-w-full truncate rounded bg-sunk px-1.5 text-12 leading-5">{tag}</Link>)}</span>],
    ["Accepted", <Time key="at" at={job.createdAt} />],
    ["Due", <Time key="at" at={job.runAt} />],
    !!job.startedAt && ["Started", <Time key="at" at={job.startedAt} />],
    !!job.completedAt && ["Ended", <Time key="at" at={job.completedAt} />],
    ran(job) && ["Ran for", <Took key="took" from={job.startedAt} to={job.completedAt} />],
    !!job.expiresAt && !isTerminal(job.state) && ["Expires", <Time key="at" at={job.expiresAt} />],
    !!job.worker && ["Worker", <code key="worker" className="break-all">{job.worker}</code>],
    job.awaits.length > 0 && ["Waits for", <>{job.awaits.join(" or ")}{job.awaitUntil && <span className="text-muted">, until <Time at={job.awaitUntil} /></span>}</>],
    !!job.cancelRequestedAt && ["Asked to stop", <><Time at={job.cancelRequestedAt} />{job.cancelReason && <span className="text-muted">: {job.cancelReason}</span>}</>],
    !job.cancelRequestedAt && !!job.cancelReason && ["Cancelled because", job.cancelReason],
    !!job.schedule && ["Schedule", <Link key="schedule" prefetch={false} className="link" href={scheduleHref(job.schedule)}>{job.schedule}</Link>],
    !!job.retryOf && ["Retry of", <Link key="retry" prefetch={false} className="link" href={jobHref(job.retryOf)}>{job.retryOf}</Link>],
    !!job.replyTo && ["Replies to", <Link key="reply" prefetch={false} className="link" href={jobHref(job.replyTo)}>{job.replyTo}</Link>],
  ];
  return <Facts rows={rows.filter((row): row is Row => !!row)} />;
}
