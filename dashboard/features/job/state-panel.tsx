"use client";

import type { Change } from "@/lib/documents";
import { visible, visibleLine } from "@/lib/visible";
import { JsonText } from "@/ui/code";
import { Panel } from "@/ui/panel";
import { Time } from "@/ui/time";
import { differences } from "./diff";
import { bySequence } from "./waterfall";

/** What the machine knows, and what each step changed of it; only where the service keeps it. */
export function StatePanel({ history, input }: { history: readonly Change[]; input: unknown }) {
  const kept = bySequence(history).filter((change) => change.state !== undefined && change.state !== null);
  const last = kept.at(-1);
  if (!last) return null;
  const steps = kept
    .map((change, index) => ({ change, changed: differences(kept[index - 1]?.state ?? input, change.state) }))
    .filter(({ changed }) => changed.length > 0);
  return (
    <Panel title="State" aside={<>after {visibleLine(last.step)}</>}>
      <JsonText value={last.state} label="State" />
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
