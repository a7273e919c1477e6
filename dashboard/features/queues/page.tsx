"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useState } from "react";
import { jobsHref } from "@/lib/address";
import { part, post } from "@/lib/api";
import type { Queue, Rate } from "@/lib/documents";
import { count } from "@/lib/format";
import { State, type JobState } from "@/lib/lifecycle.gen";
import { useList } from "@/lib/list";
import { useMay } from "@/lib/session";
import { span } from "@/lib/time";
import { Answer, Empty } from "@/ui/answer";
import { More } from "@/ui/more";
import { PageTitle, Panel } from "@/ui/panel";
import { Time } from "@/ui/time";
import { useToast } from "@/ui/toast";
import { LimitsDialog } from "./limits";

const COUNTED = [State.scheduled, State.pending, State.running, State.waiting] as const satisfies readonly JobState[];

export function QueuesPage() {
  const client = useQueryClient();
  const say = useToast();
  const may = useMay("operate");
  const [limits, setLimits] = useState<Queue | null>(null);
  const list = useList<Queue, "queues">("queues", "/api/queues");
  const act = useMutation({
    mutationFn: ({ queue, verb }: { queue: Queue; verb: string }) => post(`/api/queues/${part(queue.name)}/${verb}`, {}),
    onSuccess: (_, { queue, verb }) => {
      say(`Queue ${queue.name}: ${verb} is done.`);
      return client.invalidateQueries({ queryKey: ["queues"] });
    },
    onError: (error) => say(error.message, true),
  });
  return (
    <>
      <PageTitle title="Queues" />
      <Panel flush>
        <Answer query={list.query}>
          {({ queues }) => queues.length === 0 ? <Empty title="No queue has been used yet." /> : (
            <div className="overflow-x-auto">
              <table className="table table-stack table-middle">
                <thead><tr><th scope="col">Queue</th>{COUNTED.map((state) => <th key={state} scope="col" className="number capitalize">{state}</th>)}<th scope="col">Limits</th><th scope="col"><span className="sr-only">Actions</span></th></tr></thead>
                <tbody>
                  {queues.map((queue) => (
                    <tr key={queue.name} data-queue={queue.name}>
                      <td className="whole font-medium">
                        <Link prefetch={false} href={jobsHref({ queue: queue.name })} className="link break-all">{queue.name}</Link>
                        {queue.pausedAt && <span className="tone tone-amber ml-2 text-12 font-medium">paused <Time at={queue.pausedAt} /></span>}
                      </td>
                      {COUNTED.map((state) => <td key={state} className="number" data-label={state}>{queue[state] ? <Link prefetch={false} className="link" href={jobsHref({ queue: queue.name, state })}>{count(queue[state])}</Link> : <span className="text-muted">0</span>}</td>)}
                      <td className="whole text-muted">{sayLimits(queue)}</td>
                      <td className="whole">
                        {may && (
                          <span className="flex gap-2 sm:justify-end">
                            <button type="button" className="button button-small" onClick={() => setLimits(queue)} aria-label={`Limits of ${queue.name}`}>Limits</button>
                            <button type="button" className="button button-small" disabled={act.isPending} onClick={() => act.mutate({ queue, verb: queue.pausedAt ? "resume" : "pause" })}>{queue.pausedAt ? "Resume" : "Pause"}</button>
                          </span>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </Answer>
        <More list={list} />
      </Panel>
      {limits && <LimitsDialog queue={limits} onClose={() => setLimits(null)} />}
    </>
  );
}

function sayLimits(queue: Queue): string {
  const parts = [
    queue.concurrency !== null && `${queue.concurrency} at a time`,
    queue.rate && sayRate(queue.rate),
    queue.keyConcurrency !== null && `${queue.keyConcurrency} at a time per key`,
    queue.keyRate && `${sayRate(queue.keyRate)} per key`,
  ].filter(Boolean);
  return parts.length ? parts.join(", ") : "no limits";
}

const sayRate = (rate: Rate) => `${rate.limit} in ${span(rate.seconds * 1000)}`;
