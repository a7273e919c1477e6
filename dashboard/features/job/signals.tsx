"use client";

import type { Job, Signal } from "@/lib/documents";
import type { List } from "@/lib/paged-list";
import { visibleLine } from "@/lib/visible-text";
import { Answer } from "@/ui/answer";
import { JsonText } from "@/ui/code";
import { More } from "@/ui/more";
import { Panel } from "@/ui/panel";
import { Time } from "@/ui/time";

/** The job's inbox, where it waits for a signal or has one. */
export function Signals({ job, list }: { job: Job; list: List<"signals", Signal> }) {
  const { data, error } = list.query;
  if (job.awaits.length === 0 && !data?.signals.length && !error) return null;
  return (
    <Panel
      title="Signals"
      aside={job.awaits.length ? `waits for ${job.awaits.map(visibleLine).join(" or ")}` : undefined}
      flush
    >
      <Answer query={list.query} rows={2}>
        {({ signals }) =>
          signals.length === 0 ? (
            <p className="p-4 text-13 text-muted">No signals.</p>
          ) : (
            <ul className="divide-y text-13" data-testid="signals">
              {signals.map((signal) => (
                <li key={String(signal.id)} className="flex flex-col gap-2 px-4 py-3">
                  <span className="flex flex-wrap justify-between gap-2">
                    <span className="min-w-0 font-medium break-all">
                      {visibleLine(signal.name)}
                      {signal.dedupKey && (
                        <code className="ml-2 font-normal text-muted">{visibleLine(signal.dedupKey)}</code>
                      )}
                    </span>
                    <span className="text-muted">
                      {signal.consumedAt ? (
                        <>
                          taken <Time at={signal.consumedAt} />
                        </>
                      ) : (
                        <>
                          came <Time at={signal.at} />
                        </>
                      )}
                    </span>
                  </span>
                  <JsonText value={signal.payload} label={`Payload of ${visibleLine(signal.name)}`} />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <More list={list} />
    </Panel>
  );
}
