"use client";

import { useQuery } from "@tanstack/react-query";
import { EndedJobs } from "@/features/charts/ended-jobs";
import { Plots } from "@/features/charts/plots";
import { WorkerLink } from "@/features/workers/link";
import { jobsHref, useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import type { Queue } from "@/lib/documents";
import { count } from "@/lib/format";
import { STATES } from "@/lib/lifecycle.gen";
import { useList } from "@/lib/paged-list";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";
import { visibleLine } from "@/lib/visible-text";
import { Answer, Which } from "@/ui/answer";
import { Link } from "@/ui/link";
import { Facts, PageTitle, Panel, Up } from "@/ui/panel";
import { Time } from "@/ui/time";
import { QueueActions } from "./actions";
import { LimitList } from "./limit-list";

/** One queue: what waits in it, how fast it goes, and who serves it. */
export function QueuePage() {
  const name = useAddress().params.get("name") ?? "";
  const enabled = useMaybeSignedIn() && name !== "";
  const query = useQuery({
    queryKey: keys.queue(name),
    queryFn: () => get("/api/queues/{name}", { path: { name } }),
    enabled,
  });
  const workers = useList("workers", "/api/workers", {}).query;
  if (!name) return <Which noun="queue" />;
  return (
    <Answer query={query}>
      {({ queue }) => {
        const serving = workers.data?.workers.filter(
          (worker) => worker.live && (worker.queues.length === 0 || worker.queues.includes(name)),
        );
        return (
          <>
            <PageTitle title={visibleLine(name)} above={<Up to="/queues/">Queues</Up>}>
              <Link className="button" href={jobsHref({ queue: name })}>
                Its jobs
              </Link>
              <QueueActions queue={queue} />
            </PageTitle>
            <div className="flex flex-col gap-4">
              <div className="grid items-start gap-4 lg:grid-cols-2">
                <Panel title="Queue">
                  <Facts
                    rows={[
                      ...STATES.filter((state) => state in queue).map(
                        (state) =>
                          [
                            state,
                            <Link key={state} href={jobsHref({ queue: name, state })} className="link">
                              {count(Number(queue[state as keyof Queue]))}
                              {queue.atLeast.includes(state) && "+"}
                            </Link>,
                          ] as const,
                      ),
                      ["Limits", <LimitList key="limits" queue={queue} />],
                      ["Paused", <Time key="paused" at={queue.pausedAt} empty="no" />],
                      ["Last jobs", <EndedJobs key="strip" scope={{ queue: name }} />],
                    ]}
                  />
                </Panel>
                <Panel title="Workers" flush>
                  {serving && serving.length === 0 ? (
                    <p className="tone tone-amber p-4 text-13">No live worker serves this queue.</p>
                  ) : (
                    <ul className="divide-y text-13">
                      {serving?.map((worker) => (
                        <li key={worker.id} className="flex justify-between gap-4 px-4 py-2.5">
                          <WorkerLink id={worker.id} />
                          <span className="text-muted">
                            {count(worker.running)} of {count(worker.concurrency)} running
                          </span>
                        </li>
                      ))}
                    </ul>
                  )}
                </Panel>
              </div>
              <Plots scope={{ queue: name }} />
            </div>
          </>
        );
      }}
    </Answer>
  );
}
