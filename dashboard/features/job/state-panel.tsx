"use client";

import type { Change, Job } from "@/lib/documents";
import { visible, visibleLine } from "@/lib/visible-text";
import { JsonText } from "@/ui/code";
import { Panel } from "@/ui/panel";
import { Time } from "@/ui/time";
import { differences } from "./diff";
import { bySequence, wasFailure } from "./waterfall";

const whenKept = (change: Change) =>
  wasFailure(change) ? `when ${visibleLine(change.step)} failed` : `after ${visibleLine(change.step)}`;

/** What the machine knows now, and what each step changed of it where the machine keeps its states. */
export function StatePanel({ job, history }: { job: Job; history: readonly Change[] }) {
  const { input } = job;
  const kept = bySequence(history).filter((change) => change.state !== undefined && change.state !== null);
  const last = kept.at(-1);
  const known = job.machineState ?? last?.state;
  // The state of a function is its input, which is shown already.
  if (known === undefined || known === null || (!last && differences(input, known).length === 0)) return null;
  const steps = kept
    .map((change, index) => ({ change, changed: differences(kept[index - 1]?.state ?? input, change.state) }))
    .filter(({ changed }) => changed.length > 0);
  return (
    <Panel title="State" aside={last && whenKept(last)}>
      <JsonText value={known} label="State" />
      {!last && (
        <p className="mt-2 text-12 text-muted">
          To see what each step changes, declare the machine with <code>keep_states=True</code>.
        </p>
      )}
      {steps.length > 0 && (
        <ol className="mt-4 flex flex-col gap-3 text-13" data-testid="state-changes">
          {steps.map(({ change, changed }) => (
            <li key={String(change.id)}>
              <p className="flex justify-between gap-4">
                <span className="font-medium">
                  {visibleLine(change.step)}
                  {change.attempt > 0 && (
                    <span className="font-normal text-muted">, attempt {change.attempt + 1}</span>
                  )}
                </span>
                <span className="text-muted">
                  <Time at={change.at} />
                </span>
              </p>
              <ul className="font-mono text-12">
                {changed.map(({ path, before, after }) => (
                  <li key={path} className="break-words">
                    <span className="text-muted">{visible(path)}: </span>
                    {before !== null && <del className="tone tone-red">{visible(before)}</del>}
                    {before !== null && after !== null && " → "}
                    {after !== null && <ins className="tone tone-green no-underline">{visible(after)}</ins>}
                  </li>
                ))}
              </ul>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
