"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { filterOf } from "@/features/jobs/filter";
import { jobHref, jobsHref, machineHref, useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import type { ErrorGroup } from "@/lib/documents";
import { count } from "@/lib/format";
import { State } from "@/lib/lifecycle.gen";
import { useMachines } from "@/lib/machines";
import { keys } from "@/lib/query-keys";
import { useMay, useMaybeSignedIn } from "@/lib/session";
import { visible, visibleLine } from "@/lib/visible-text";
import { Answer, Empty } from "@/ui/answer";
import { later } from "@/ui/later";
import { Link } from "@/ui/link";
import { PageTitle, Panel } from "@/ui/panel";
import { Sparkline } from "@/ui/sparkline";
import { Time } from "@/ui/time";

const BulkDialog = later(() => import("@/features/jobs/bulk").then((it) => it.BulkDialog));

/** What fails, in groups: the same exception in the same place of the same action. */
export function ErrorsPage() {
  const { params, change } = useAddress();
  const enabled = useMaybeSignedIn();
  const machines = useMachines();
  const action = params.get("action");
  const queue = params.get("queue");
  const cursor = params.get("cursor");
  const query = useQuery({
    queryKey: keys.errors({ action, queue, cursor }),
    queryFn: ({ signal }) => get("/api/errors", { query: { action, queue, cursor }, signal }),
    enabled,
  });
  return (
    <>
      <PageTitle title="Errors">
        <select
          aria-label="Action"
          className="input w-auto max-w-52"
          value={action ?? ""}
          onChange={(event) => change({ action: event.target.value || null, cursor: null })}
        >
          <option value="">Action: any</option>
          {machines.data?.machines.map((machine) => (
            <option key={machine.name} value={machine.name}>
              {machine.name}
            </option>
          ))}
        </select>
      </PageTitle>
      <Panel flush>
        <Answer query={query}>
          {({ errors, nextCursor }) =>
            errors.length === 0 ? (
              <Empty title={action ? `No job of ${visibleLine(action)} has failed.` : "No job has failed."} />
            ) : (
              <>
                <ul className="divide-y">
                  {errors.map((group) => (
                    <Group key={group.fingerprint} group={group} />
                  ))}
                </ul>
                {nextCursor && (
                  <div className="border-t p-2 text-center">
                    <button
                      type="button"
                      className="button button-small"
                      onClick={() => change({ cursor: nextCursor }, "push")}
                    >
                      Next page
                    </button>
                  </div>
                )}
              </>
            )
          }
        </Answer>
      </Panel>
    </>
  );
}

function Group({ group }: { group: ErrorGroup }) {
  const may = useMay("operate");
  const [retrying, setRetrying] = useState(false);
  const jobs = { error: group.fingerprint, state: State.failed };
  return (
    <li
      className="tone-red grid gap-x-6 gap-y-2 p-4 text-13 lg:grid-cols-[minmax(0,1fr)_120px_130px] xl:grid-cols-[minmax(0,1fr)_120px_150px_auto]"
      data-error={group.fingerprint}
    >
      <div className="min-w-0">
        <p className="truncate">
          <span className="tone font-semibold">{visibleLine(group.exception)}</span>{" "}
          <Link href={machineHref(group.action)} className="link font-medium">
            {visibleLine(group.action)}
          </Link>
        </p>
        <p className="mt-0.5 line-clamp-2 break-words">{visible(group.message)}</p>
        {group.frame && (
          <code className="mt-0.5 block truncate text-12 text-muted" title={visibleLine(group.frame)}>
            {visibleLine(group.frame)}
          </code>
        )}
      </div>
      <div className="tone">
        <p className="text-16 font-semibold text-ink">
          <Link
            href={jobsHref(jobs)}
            className="link"
            aria-label={`${count(group.count)} jobs with this error`}
          >
            {count(group.count)}
          </Link>
        </p>
        <Sparkline values={group.series} label="Failures in each of the last 24 hours" />
      </div>
      <p className="text-12 text-muted">
        last <Time at={group.lastAt} />
        <br />
        first <Time at={group.firstAt} />
      </p>
      <div className="flex flex-wrap items-start gap-2 lg:max-xl:col-span-3 xl:justify-end">
        <Link className="button button-small" href={jobHref(group.lastJobId)}>
          Last job
        </Link>
        <Link className="button button-small" href={jobsHref(jobs)}>
          All jobs
        </Link>
        {may && (
          <button type="button" className="button button-small" onClick={() => setRetrying(true)}>
            Retry all…
          </button>
        )}
      </div>
      {retrying && (
        <BulkDialog
          filter={filterOf(new URLSearchParams(jobs))}
          choose="retry"
          onClose={() => setRetrying(false)}
        />
      )}
    </li>
  );
}
