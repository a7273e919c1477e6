"use client";

import { go, machineHref } from "@/lib/address";
import { plural } from "@/lib/format";
import { useRows } from "@/lib/keyboard";
import { useMachines } from "@/lib/machines";
import { visibleLine } from "@/lib/visible-text";
import { Empty } from "@/ui/answer";
import { Link } from "@/ui/link";
import { PageTitle, Panel } from "@/ui/panel";
import { AnswerTable, number } from "@/ui/table";

export function MachinesPage() {
  const query = useMachines();
  const { current } = useRows(query.data?.machines.map((machine) => machine.name) ?? [], (name) =>
    go(machineHref(name)),
  );
  return (
    <>
      <PageTitle title="Machines" />
      <Panel flush>
        <AnswerTable
          query={query}
          rows={(page) => page.machines}
          empty={
            <Empty title="No machine is known yet.">A worker registers its machines when it starts.</Empty>
          }
          columns={["Action", "Queue", number("Steps"), number("Version"), "Workers"]}
        >
          {(machine) => (
            <tr key={machine.name} data-row data-current={machine.name === current}>
              <td className="whole font-medium">
                <Link className="link break-all" href={machineHref(machine.name)}>
                  {visibleLine(machine.name)}
                </Link>
              </td>
              <td className="text-muted" data-label="queue">
                {machine.queue}
              </td>
              <td className="number" data-label="steps">
                {machine.steps.length}
              </td>
              <td className="number" data-label="version">
                {machine.version}
                {machine.versions.length > 1 && (
                  <span className="text-muted" title={machine.versions.join(", ")}>
                    {" "}
                    of {machine.versions.length}
                  </span>
                )}
              </td>
              <td>
                {machine.workers > 0 ? (
                  plural(machine.workers, "live worker")
                ) : (
                  <span className="tone tone-amber">no live worker</span>
                )}
              </td>
            </tr>
          )}
        </AnswerTable>
      </Panel>
    </>
  );
}
