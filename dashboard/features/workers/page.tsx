"use client";

import { workerHref } from "@/lib/address";
import { count } from "@/lib/format";
import { useList } from "@/lib/paged-list";
import { Empty } from "@/ui/answer";
import { Link } from "@/ui/link";
import { PageTitle, Panel } from "@/ui/panel";
import { ACTIONS, ListTable, number } from "@/ui/table";
import { Time } from "@/ui/time";
import { Drain, WorkerState } from "./drain";

export function WorkersPage() {
  const list = useList("workers", "/api/workers", {});
  return (
    <>
      <PageTitle title="Workers" />
      <Panel flush>
        <ListTable
          list={list}
          name="workers"
          empty={
            <Empty title="No worker is running.">
              Start one with <code>kairos worker app.py</code>.
            </Empty>
          }
          className="table-stack table-middle"
          columns={[
            "Worker",
            "State",
            "Queues",
            number("Running"),
            number("Started"),
            number("Last seen"),
            ACTIONS,
          ]}
        >
          {(worker) => (
            <tr key={worker.id} data-worker={worker.id}>
              <td className="whole font-medium">
                <Link href={workerHref(worker.id)} className="link break-all">
                  {worker.host}
                </Link>{" "}
                <span className="font-normal text-muted">process {worker.pid}</span>
                <code className="block text-12 break-all text-muted">{worker.id}</code>
              </td>
              <td>
                <WorkerState worker={worker} />
              </td>
              <td className="max-w-60 text-muted">{worker.queues.join(", ") || "all"}</td>
              <td className="number" data-label="runs">
                {count(worker.running)} <span className="text-muted">of {count(worker.concurrency)}</span>
              </td>
              <td className="number text-muted" data-label="started">
                <Time at={worker.startedAt} />
              </td>
              <td className="number text-muted" data-label="seen">
                <Time at={worker.seenAt} />
              </td>
              <td className="number">
                <Drain worker={worker} small />
              </td>
            </tr>
          )}
        </ListTable>
      </Panel>
    </>
  );
}
