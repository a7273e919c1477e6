"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { part, post } from "@/lib/api";
import type { Worker } from "@/lib/documents";
import { count } from "@/lib/format";
import { useList } from "@/lib/list";
import { useMay } from "@/lib/session";
import { Answer, Empty } from "@/ui/answer";
import { More } from "@/ui/more";
import { PageTitle, Panel } from "@/ui/panel";
import { Time } from "@/ui/time";
import { useToast } from "@/ui/toast";

export function WorkersPage() {
  const client = useQueryClient();
  const say = useToast();
  const may = useMay("operate");
  const list = useList<Worker, "workers">("workers", "/api/workers");
  const drain = useMutation({
    mutationFn: (worker: Worker) => post(`/api/workers/${part(worker.id)}/drain`, {}),
    onSuccess: () => {
      say("It finishes what it runs, takes nothing new, and stops.");
      return client.invalidateQueries({ queryKey: ["workers"] });
    },
    onError: (error) => say(error.message, true),
  });
  return (
    <>
      <PageTitle title="Workers" />
      <Panel flush>
        <Answer query={list.query}>
          {({ workers }) => workers.length === 0 ? <Empty title="No worker is running.">Start one with <code>kairos worker app.py</code>.</Empty> : (
            <div className="overflow-x-auto">
              <table className="table table-stack table-middle">
                <thead><tr><th scope="col">Worker</th><th scope="col">State</th><th scope="col">Queues</th><th scope="col" className="number">Running</th><th scope="col" className="number">Started</th><th scope="col" className="number">Last seen</th><th scope="col"><span className="sr-only">Actions</span></th></tr></thead>
                <tbody>
                  {workers.map((worker) => (
                    <tr key={worker.id} data-worker={worker.id}>
                      <td className="whole font-medium"><span className="break-all">{worker.host}</span> <span className="font-normal text-muted">process {worker.pid}</span><code className="block text-12 break-all text-muted">{worker.id}</code></td>
                      <td>{!worker.live ? <span className="tone tone-red">gone</span> : worker.stoppingAt ? <span className="tone tone-amber">stopping</span> : worker.drainAt ? <span className="tone tone-amber">asked to stop</span> : <span className="tone tone-green">live</span>}</td>
                      <td className="max-w-60 text-muted">{worker.queues.join(", ") || "all"}</td>
                      <td className="number" data-label="runs">{count(worker.running)} <span className="text-muted">of {count(worker.concurrency)}</span></td>
                      <td className="number text-muted" data-label="started"><Time at={worker.startedAt} /></td>
                      <td className="number text-muted" data-label="seen"><Time at={worker.seenAt} /></td>
                      <td className="number">{may && worker.live && !worker.stoppingAt && !worker.drainAt && <button type="button" className="button button-small" disabled={drain.isPending} title="It finishes what it runs, takes nothing new, and stops" aria-label={`Drain worker ${worker.id}`} onClick={() => drain.mutate(worker)}>Drain</button>}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </Answer>
        <More list={list} />
      </Panel>
    </>
  );
}
