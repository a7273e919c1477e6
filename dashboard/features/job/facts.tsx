"use client";

import { WorkerLink } from "@/features/workers/link";
import { jobHref, jobsHref, queueHref, scheduleHref } from "@/lib/address";
import type { Change, Job } from "@/lib/documents";
import { plural } from "@/lib/format";
import { INITIAL } from "@/lib/lifecycle.gen";
import { local, now, span, useSecond, useZone } from "@/lib/time";
import { visible, visibleLine } from "@/lib/visible-text";
import { Link } from "@/ui/link";
import { Facts } from "@/ui/panel";
import { isTerminal } from "@/ui/state";
import { Time, Took } from "@/ui/time";
import { useRetries } from "./retries";
import { ranFor, waterfallOf } from "./waterfall";

type Row = readonly [string, React.ReactNode];
type Props = { job: Job; history: readonly Change[]; family: readonly Job[] };

export function JobFacts({ job, history, family }: Props) {
  const retries = useRetries(job);
  const waits = INITIAL.includes(job.state);
  const rows: (Row | false | null)[] = [
    [
      "Number",
      <span key="id" data-testid="job-id">
        {job.id}
      </span>,
    ],
    [
      "Step",
      <>
        {visibleLine(job.step)}
        {job.attempt > 0 && <span className="text-muted">, attempt {job.attempt + 1}</span>}
      </>,
    ],
    !!job.retry && ["Attempts", `${job.retry.attempts} at most`],
    ["Version", job.version],
    ["Queue", <To key="queue" href={queueHref(job.queue)} name={job.queue} />],
    ["Priority", job.priority],
    !!job.key && ["Key", <To key="key" href={jobsHref({ key: job.key })} name={job.key} />],
    !!job.unique && ["Unique", <code key="unique">{visible(job.unique)}</code>],
    job.tags.length > 0 && ["Tags", <Tags key="tags" tags={job.tags} />],
    ["Accepted", <At key="at" at={job.createdAt} />],
    // After the first start, `runAt` is the due time of the next attempt, not the one that the job started at.
    waits && [job.startedAt ? "Next attempt" : "Due", <At key="at" at={job.runAt} />],
    !!job.startedAt && ["Started", <At key="at" at={job.startedAt} />],
    !!job.completedAt && ["Ended", <At key="at" at={job.completedAt} />],
    !!job.startedAt && ["Ran for", <Ran key="ran" job={job} history={history} />],
    !!job.startedAt &&
      !!job.completedAt && ["Start to end", <Took key="took" from={job.startedAt} to={job.completedAt} />],
    !!job.expiresAt && !isTerminal(job.state) && ["Expires", <Time key="at" at={job.expiresAt} />],
    !!job.worker && ["Worker", <WorkerLink key="worker" id={job.worker} />],
    job.awaits.length > 0 && [
      "Waits for",
      <>
        {job.awaits.map(visibleLine).join(" or ")}
        {job.awaitUntil && (
          <span className="text-muted">
            , times out <Time at={job.awaitUntil} />
          </span>
        )}
      </>,
    ],
    !!job.cancelRequestedAt && [
      "Asked to stop",
      <>
        <Time at={job.cancelRequestedAt} />
        {job.cancelReason && <span className="text-muted">: {visible(job.cancelReason)}</span>}
      </>,
    ],
    !job.cancelRequestedAt && !!job.cancelReason && ["Cancelled because", visible(job.cancelReason)],
    !!job.schedule && [
      "Schedule",
      <To key="schedule" href={scheduleHref(job.schedule)} name={job.schedule} />,
    ],
    job.parent != null && [
      "Parent",
      <To key="parent" href={jobHref(job.parent)} name={String(job.parent)} />,
    ],
    family.length > 0 && [
      "Children",
      <To key="children" href={jobsHref({ parent: String(job.id) })} name={plural(family.length, "job")} />,
    ],
    !!job.retryOf && ["Retry of", <To key="retry" href={jobHref(job.retryOf)} name={String(job.retryOf)} />],
    retries.ids.length > 0 && [
      "Retried as",
      <span key="retries" className="flex flex-wrap gap-x-2">
        {retries.ids.map((id) => (
          <To key={id} href={jobHref(id)} name={id} />
        ))}
        {retries.more && <To href={jobsHref({ retryOf: String(job.id) })} name="all retries" />}
      </span>,
    ],
  ];
  return <Facts rows={rows.filter((row): row is Row => !!row)} />;
}

/** How long ago it was, and when by the clock. */
function At({ at }: { at: string }) {
  useZone(); // the clock follows the choice of the zone at once
  return (
    <span className="flex flex-wrap items-baseline gap-x-2">
      <Time at={at} />
      <span className="text-12 text-muted">{local(at).replace("T", " ")}</span>
    </span>
  );
}

/** How long anything of it ran: neither waiting for signals nor backing off counts. */
function Ran({ job, history }: Pick<Props, "job" | "history">) {
  useSecond();
  return (
    <span title="Waiting and backing off not included">{span(ranFor(waterfallOf(job, history, now())))}</span>
  );
}

function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <span className="flex flex-wrap gap-1">
      {tags.map((tag, index) => (
        <Link
          key={index}
          href={jobsHref({ tag })}
          className="max-w-full truncate rounded bg-sunk px-1.5 text-12 leading-5"
        >
          {visibleLine(tag)}
        </Link>
      ))}
    </span>
  );
}

const To = ({ href, name }: { href: string; name: string }) => (
  <Link className="link mr-2 break-all" href={href}>
    {visibleLine(name)}
  </Link>
);
