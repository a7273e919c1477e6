"use client";

import { useQuery } from "@tanstack/react-query";
import { get } from "@/lib/api";
import type { Stats } from "@/lib/documents";
import { SOON, every } from "@/lib/fresh";
import { TRANSITIONS } from "@/lib/lifecycle.gen";
import { useMaybeSignedIn } from "@/lib/session";
import { PageTitle, Panel } from "@/ui/panel";
import { StateMark } from "@/ui/state";
import { LifecycleDiagram } from "./diagram";

/** The table that everything else is rendered from, and how many jobs stand where. */
export function LifecyclePage() {
  const enabled = useMaybeSignedIn();
  const stats = useQuery({ queryKey: ["stats"], queryFn: () => get<{ stats: Stats }>("/api/stats"), enabled, refetchInterval: every(SOON) });
  return (
    <>
      <PageTitle title="Lifecycle" />
      <div className="flex flex-col gap-6">
        <Panel><LifecycleDiagram stats={stats.data?.stats} /></Panel>
        <Panel title="Every change that can happen to a job" flush>
          <div className="overflow-x-auto">
            <table className="table table-stack">
              <thead><tr><th scope="col">Verb</th><th scope="col">From</th><th scope="col">To</th><th scope="col">By</th><th scope="col">Because</th></tr></thead>
              <tbody>
                {TRANSITIONS.map((row) => (
                  <tr key={`${row.verb}${row.from}`}>
                    <td><code>{row.verb}</code></td>
                    <td><StateMark state={row.from} /></td>
                    <td><StateMark state={row.to} /></td>
                    <td className="text-muted">{row.by}</td>
                    <td className="whole text-muted">{row.because}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
      </div>
    </>
  );
}
