"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/lib/api";
import type { Worker } from "@/lib/documents";
import { keys } from "@/lib/query-keys";
import { useMay } from "@/lib/session";
import { Confirm } from "@/ui/dialog";
import { useToast } from "@/ui/toast";

/** Asks a worker to stop once it has finished what it runs. */
export function Drain({ worker, small = false }: { worker: Worker; small?: boolean }) {
  const client = useQueryClient();
  const say = useToast();
  const may = useMay("operate");
  const [asks, setAsks] = useState(false);
  const drain = useMutation({
    mutationFn: () => post("/api/workers/{id}/drain", { path: { id: worker.id } }),
    onSuccess: () => {
      setAsks(false);
      say("The worker finishes what it runs, takes nothing new, and stops.");
      return client.invalidateQueries({ queryKey: keys.workers });
    },
  });
  if (!may || !worker.live || worker.stoppingAt || worker.drainAt) return null;
  return (
    <>
      <button
        type="button"
        className={`button ${small ? "button-small" : ""}`}
        aria-label={`Drain worker ${worker.id}`}
        onClick={() => setAsks(true)}
      >
        Drain
      </button>
      {asks && (
        <Confirm
          title={`Drain worker ${worker.id}`}
          label="Drain the worker"
          onClose={() => setAsks(false)}
          onConfirm={() => drain.mutate()}
          pending={drain.isPending}
          error={drain.error}
        >
          It finishes what it runs, takes nothing new, and stops.
        </Confirm>
      )}
    </>
  );
}

/** Whether a worker is there, in a word. */
export function WorkerState({ worker }: { worker: Worker }) {
  if (!worker.live) return <span className="tone tone-red">gone</span>;
  if (worker.stoppingAt) return <span className="tone tone-amber">stopping</span>;
  if (worker.drainAt) return <span className="tone tone-amber">asked to stop</span>;
  return <span className="tone tone-green">live</span>;
}
