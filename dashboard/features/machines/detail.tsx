"use client";

import { useQuery } from "@tanstack/react-query";
import Link from "next/link";
import { useState } from "react";
import { jobsHref, useAddress } from "@/lib/address";
import { get, part } from "@/lib/api";
import type { Diagram, Machine } from "@/lib/documents";
import { plural } from "@/lib/format";
import { useMay, useMaybeSignedIn } from "@/lib/session";
import { span } from "@/lib/time";
import { EnqueueDialog } from "@/features/jobs/enqueue";
import { Answer, Empty } from "@/ui/answer";
import { JsonText } from "@/ui/code";
import { Facts, PageTitle, Panel } from "@/ui/panel";
import { MachineDiagram } from "./diagram";

export function MachinePage() {
  const name = useAddress().params.get("name") ?? "";
  const enabled = useMaybeSignedIn() && name !== "";
  const may = useMay("enqueue");
  const [enqueue, setEnqueue] = useState(false);
  const path = `/api/machines/${part(name)}`;
  const machine = useQuery({ queryKey: ["machine", name], queryFn: () => get<{ machine: Machine }>(path), enabled });
  const diagram = useQuery({ queryKey: ["diagram", name], queryFn: () => get<{ diagram: Diagram }>(`${path}/diagram`), enabled, refetchInterval: false });
  if (!name) return <Empty title="Which machine?"><Link href="/machines/" className="link">All machines</Link></Empty>;
  return (
    <>
      <PageTitle title={name} above={<><Link prefetch={false} href="/machines/" className="link">Machines</Link></>}>
        <Link prefetch={false} className="button" href={jobsHref({ action: name })}>Its jobs</Link>
        {may && <button type="button" className="button" onClick={() => setEnqueue(true)}>Enqueue it</button>}
      </PageTitle>
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_400px]">
        <Panel title="Steps"><Answer query={diagram}>{(data) => <MachineDiagram diagram={data.diagram} />}</Answer></Panel>
        <Answer query={machine}>
          {({ machine: one }) => (
            <div className="flex min-w-0 flex-col gap-6">
              <Panel title="Machine">
                <Facts rows={[
                  ["Version", <>{one.version}{one.versions.length > 1 && <span className="text-muted"> (also {one.versions.filter((each) => each !== one.version).join(", ")})</span>}</>],
                  ["Queue", one.queue],
                  ["TTL", one.ttl ? span(one.ttl * 1000) : "none"],
                  ["Hidden fields", one.redact.length ? one.redact.join(", ") : "none"],
                  ["Workers", one.workers > 0 ? plural(one.workers, "live worker") : <span key="none" className="tone tone-amber">no live worker knows it</span>],
                ]} />
              </Panel>
              <Panel title="Input schema"><JsonText value={one.input} label="Input schema" /></Panel>
            </div>
          )}
        </Answer>
      </div>
      {enqueue && <EnqueueDialog action={name} onClose={() => setEnqueue(false)} />}
    </>
  );
}
