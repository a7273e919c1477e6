"use client";

import Link from "next/link";
import { useRouter } from "next/navigation";
import { machineHref } from "@/lib/address";
import { plural } from "@/lib/format";
import { useRows } from "@/lib/keyboard";
import { useMachines } from "@/lib/machines";
import { Answer, Empty } from "@/ui/answer";
import { PageTitle, Panel } from "@/ui/panel";

export function MachinesPage() {
  const router = useRouter();
  const query = useMachines();
  const current = useRows(query.data?.machines.length ?? 0, (index) => router.push(machineHref(query.data!.machines[index]!.name)));
  return (
    <>
      <PageTitle title="Machines" />
      <Panel flush>
        <Answer query={query}>
          {({ machines }) => machines.length === 0 ? <Empty title="No machine is known yet.">A worker registers its machines when it starts.</Empty> : (
            <table className="table table-stack">
              <thead><tr><th scope="col">Action</th><th scope="col">Queue</th><th scope="col" className="number">Steps</th><th scope="col" className="number">Version</th><th scope="col">Workers</th></tr></thead>
              <tbody>
                {machines.map((machine, index) => (
                  <tr key={machine.name} data-row data-current={index === current}>
                    <td className="whole font-medium"><Link prefetch={false} className="link break-all" href={machineHref(machine.name)}>{machine.name}</Link></td>
                    <td className="text-muted" data-label="queue">{machine.queue}</td>
                    <td className="number" data-label="steps">{machine.steps.length}</td>
                    <td className="number" data-label="version">{machine.version}{machine.versions.length > 1 && <span className="text-muted" title={machine.versions.join(", ")}> of {machine.versions.length}</span>}</td>
                    <td>{machine.workers > 0 ? plural(machine.workers, "live worker") : <span className="tone tone-amber">no live worker</span>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Answer>
      </Panel>
    </>
  );
}
