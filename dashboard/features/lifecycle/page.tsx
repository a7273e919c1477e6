"use client";

import { useQuery } from "@tanstack/react-query";
import { get } from "@/lib/api";
import { TRANSITIONS } from "@/lib/lifecycle.gen";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";
import { later } from "@/ui/later";
import { PageTitle, Panel } from "@/ui/panel";
import { StateMark } from "@/ui/state";
import { Table } from "@/ui/table";

const LifecycleDiagram = later(() =>
  import("@/features/lifecycle/diagram").then((it) => it.LifecycleDiagram),
);

/** The table that everything else is rendered from, and how many jobs stand where. */
export function LifecyclePage() {
  const enabled = useMaybeSignedIn();
  const stats = useQuery({
    queryKey: keys.stats,
    queryFn: () => get("/api/stats"),
    enabled,
  });
  return (
    <>
      <PageTitle title="Lifecycle" />
      <div className="flex flex-col gap-6">
        <Panel className="min-h-[320px]">
          <LifecycleDiagram stats={stats.data?.stats} />
        </Panel>
        <Panel title="Every change that can happen to a job" flush>
          <Table columns={["Verb", "From", "To", "By", "Because"]}>
            {TRANSITIONS.map((row) => (
              <tr key={`${row.verb}${row.from}`}>
                <td>
                  <code>{row.verb}</code>
                </td>
                <td>
                  <StateMark state={row.from} />
                </td>
                <td>
                  <StateMark state={row.to} />
                </td>
                <td className="text-muted">{row.by}</td>
                <td className="whole text-muted">{row.because}</td>
              </tr>
            ))}
          </Table>
        </Panel>
      </div>
    </>
  );
}
