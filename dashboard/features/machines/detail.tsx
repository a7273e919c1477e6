"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { EndedJobs } from "@/features/charts/ended-jobs";
import { Plots } from "@/features/charts/plots";
import { jobsHref, useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import { plural } from "@/lib/format";
import { keys } from "@/lib/query-keys";
import { useMay, useMaybeSignedIn } from "@/lib/session";
import { span } from "@/lib/time";
import { Answer, Which } from "@/ui/answer";
import { JsonText } from "@/ui/code";
import { later } from "@/ui/later";
import { Link } from "@/ui/link";
import { Facts, PageTitle, Panel, Up } from "@/ui/panel";

const MachineDiagram = later(() => import("./diagram").then((it) => it.MachineDiagram));
const EnqueueDialog = later(() => import("@/features/jobs/enqueue").then((it) => it.EnqueueDialog));

export function MachinePage() {
  const name = useAddress().params.get("name") ?? "";
  const enabled = useMaybeSignedIn() && name !== "";
  const may = useMay("enqueue");
  const [enqueue, setEnqueue] = useState(false);
  const machine = useQuery({
    queryKey: keys.machine(name),
    queryFn: () => get("/api/machines/{name}", { path: { name } }),
    enabled,
  });
  const diagram = useQuery({
    queryKey: keys.diagram(name),
    queryFn: () => get("/api/machines/{name}/diagram", { path: { name } }),
    enabled,
    refetchInterval: false,
  });
  if (!name) return <Which noun="machine" />;
  return (
    <>
      <PageTitle title={name} above={<Up to="/machines/">Machines</Up>}>
        <Link className="button" href={jobsHref({ action: name })}>
          Its jobs
        </Link>
        {may && (
          <button type="button" className="button" onClick={() => setEnqueue(true)}>
            Enqueue a job
          </button>
        )}
      </PageTitle>
      <div className="mb-4">
        <Plots scope={{ action: name }} />
      </div>
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_400px]">
        <Panel title="Steps">
          <Answer query={diagram}>{(data) => <MachineDiagram diagram={data.diagram} />}</Answer>
        </Panel>
        <Answer query={machine}>
          {({ machine: one }) => (
            <div className="flex min-w-0 flex-col gap-6">
              <Panel title="Machine">
                <Facts
                  rows={[
                    ["Last jobs", <EndedJobs key="strip" scope={{ action: name }} />],
                    [
                      "Version",
                      <>
                        {one.version}
                        {one.versions.length > 1 && (
                          <span className="text-muted">
                            {" "}
                            (also {one.versions.filter((each) => each !== one.version).join(", ")})
                          </span>
                        )}
                      </>,
                    ],
                    ["Queue", one.queue],
                    ["TTL", one.ttl ? span(one.ttl * 1000) : "none"],
                    ["Hidden fields", one.redact.length ? one.redact.join(", ") : "none"],
                    [
                      "Workers",
                      one.workers > 0 ? (
                        plural(one.workers, "live worker")
                      ) : (
                        <span key="none" className="tone tone-amber">
                          no live worker knows it
                        </span>
                      ),
                    ],
                  ]}
                />
              </Panel>
              <Panel title="Input schema">
                <JsonText value={one.input} label="Input schema" />
              </Panel>
            </div>
          )}
        </Answer>
      </div>
      {enqueue && <EnqueueDialog action={name} onClose={() => setEnqueue(false)} />}
    </>
  );
}
