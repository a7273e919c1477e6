"use client";

import { useQuery } from "@tanstack/react-query";
import { RunningNow } from "@/features/overview/running";
import { machineHref, queueHref, useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import type { Worker } from "@/lib/documents";
import { count } from "@/lib/format";
import { State } from "@/lib/lifecycle.gen";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";
import { visibleLine } from "@/lib/visible-text";
import { Answer, Which } from "@/ui/answer";
import { Link } from "@/ui/link";
import { Facts, PageTitle, Panel, Up } from "@/ui/panel";
import { Time } from "@/ui/time";
import { Drain, WorkerState } from "./drain";

/** One worker: whether it is there, what it runs and what it could run. */
export function WorkerPage() {
  const id = useAddress().params.get("id") ?? "";
  const enabled = useMaybeSignedIn() && id !== "";
  const query = useQuery({
    queryKey: keys.worker(id),
    queryFn: () => get("/api/workers/{id}", { path: { id } }),
    enabled,
  });
  const running = useQuery({
    queryKey: keys.workerJobs(id),
    queryFn: () => get("/api/jobs", { query: { state: [State.running], limit: 500 } }),
    enabled,
  });
  if (!id) return <Which noun="worker" />;
  return (
    <Answer query={query}>
      {({ worker }) => (
        <>
          <PageTitle
            title={`${worker.host}, process ${worker.pid}`}
            tab={`Worker ${worker.id}`}
            above={<Up to="/workers/">Workers</Up>}
          >
            <Drain worker={worker} />
          </PageTitle>
          <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_400px]">
            <Panel title="Running now" flush>
              <Answer query={running}>
                {({ jobs }) => <RunningNow jobs={jobs.filter((job) => job.worker === worker.id)} />}
              </Answer>
            </Panel>
            <Panel title="Worker">
              <Facts
                rows={[
                  ["State", <WorkerState key="state" worker={worker} />],
                  ["Id", <code key="id">{worker.id}</code>],
                  ["Running", `${count(worker.running)} of ${count(worker.concurrency)}`],
                  ["Started", <Time key="started" at={worker.startedAt} />],
                  ["Last seen", <Time key="seen" at={worker.seenAt} />],
                  ["Queues", worker.queues.length === 0 ? "all" : linked(worker.queues, queueHref)],
                  ["Actions", linked(actionsOf(worker), machineHref)],
                ]}
              />
            </Panel>
          </div>
        </>
      )}
    </Answer>
  );
}

/** Names that lead to their pages; a name wider than its column breaks, a line breaks between names before that. */
const linked = (names: readonly string[], href: (name: string) => string) => (
  <span className="flex flex-wrap gap-x-2">
    {names.map((name) => (
      <Link key={name} href={href(name)} className="link wrap-anywhere">
        {visibleLine(name)}
      </Link>
    ))}
  </span>
);

const actionsOf = ({ actions }: Worker) => [
  ...new Set(actions.map((each) => (typeof each === "string" ? each : nameOf(each)))),
];

const nameOf = (action: object) => ("name" in action ? String(action.name) : JSON.stringify(action));
