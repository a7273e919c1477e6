"use client";

import { EndedJobs } from "@/features/charts/ended-jobs";
import { jobsHref, queueHref } from "@/lib/address";
import { count } from "@/lib/format";
import { type JobState, State } from "@/lib/lifecycle.gen";
import { useList } from "@/lib/paged-list";
import { visibleLine } from "@/lib/visible-text";
import { Empty } from "@/ui/answer";
import { Link } from "@/ui/link";
import { PageTitle, Panel } from "@/ui/panel";
import { ACTIONS, ListTable } from "@/ui/table";
import { Time } from "@/ui/time";
import { QueueActions } from "./actions";
import { LimitList } from "./limit-list";

const COUNTED = [
  State.scheduled,
  State.pending,
  State.running,
  State.waiting,
] as const satisfies readonly JobState[];

export function QueuesPage() {
  const list = useList("queues", "/api/queues", {});
  return (
    <>
      <PageTitle title="Queues" />
      <Panel flush>
        <ListTable
          list={list}
          name="queues"
          empty={<Empty title="No queue has been used yet." />}
          className="table-stack table-middle"
          columns={[
            "Queue",
            ...COUNTED.map((state) => ({ name: state, className: "number capitalize" })),
            { name: "Limits", className: "sm:max-md:hidden" },
            { name: "Last jobs", className: "sm:max-xl:hidden" },
            ACTIONS,
          ]}
        >
          {(queue) => (
            <tr key={queue.name} data-queue={queue.name}>
              <td className="whole min-w-36 font-medium">
                <Link href={queueHref(queue.name)} className="link break-words">
                  {visibleLine(queue.name)}
                </Link>
                {queue.pausedAt && (
                  <span className="tone tone-amber ml-2 text-12 font-medium">
                    paused <Time at={queue.pausedAt} />
                  </span>
                )}
              </td>
              {COUNTED.map((state) => (
                <td key={state} className="number" data-label={state}>
                  {queue[state] ? (
                    <Link className="link" href={jobsHref({ queue: queue.name, state })}>
                      {count(queue[state])}
                      {queue.atLeast.some((each) => each === state) && "+"}
                    </Link>
                  ) : (
                    <span className="text-muted">0</span>
                  )}
                </td>
              ))}
              <td className="whole text-muted sm:max-md:hidden">
                <LimitList queue={queue} />
              </td>
              <td className="whole sm:max-xl:hidden">
                <EndedJobs scope={{ queue: queue.name }} />
              </td>
              <td className="whole">
                <span className="flex gap-2 sm:justify-end">
                  <QueueActions queue={queue} small />
                </span>
              </td>
            </tr>
          )}
        </ListTable>
      </Panel>
    </>
  );
}
