"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/lib/api";
import type { Queue } from "@/lib/documents";
import { plural } from "@/lib/format";
import { keys } from "@/lib/query-keys";
import { useMay } from "@/lib/session";
import { visibleLine } from "@/lib/visible-text";
import { Confirm } from "@/ui/dialog";
import { useToast } from "@/ui/toast";
import { LimitsDialog } from "./limits";

/** Limits, pause and resume, for who may; a pause asks first. */
export function QueueActions({ queue, small = false }: { queue: Queue; small?: boolean }) {
  const client = useQueryClient();
  const say = useToast();
  const may = useMay("operate");
  const [sheet, setSheet] = useState<"limits" | "pause" | null>(null);
  const act = useMutation({
    mutationFn: (verb: "pause" | "resume") =>
      post(verb === "pause" ? "/api/queues/{name}/pause" : "/api/queues/{name}/resume", {
        path: { name: queue.name },
      }),
    onSuccess: (_, verb) => {
      setSheet(null);
      say(verb === "pause" ? `Paused ${queue.name}.` : `Resumed ${queue.name}.`);
      return client.invalidateQueries({ queryKey: keys.queues });
    },
    onError: (error, verb) => verb === "resume" && say(error.message, true),
  });
  if (!may) return null;
  const look = `button ${small ? "button-small" : ""}`;
  return (
    <>
      <button
        type="button"
        className={look}
        onClick={() => setSheet("limits")}
        aria-label={`Limits of ${visibleLine(queue.name)}`}
      >
        Limits
      </button>
      <button
        type="button"
        className={look}
        disabled={act.isPending}
        onClick={() => (queue.pausedAt ? act.mutate("resume") : setSheet("pause"))}
      >
        {queue.pausedAt ? "Resume" : "Pause"}
      </button>
      {sheet === "limits" && <LimitsDialog queue={queue} onClose={() => setSheet(null)} />}
      {sheet === "pause" && (
        <Confirm
          title={`Pause ${queue.name}`}
          label="Pause the queue"
          onClose={() => setSheet(null)}
          onConfirm={() => act.mutate("pause")}
          pending={act.isPending}
          error={act.error}
        >
          No job of this queue starts until it is resumed. {plural(queue.running, "job")} that{" "}
          {queue.running === 1 ? "runs" : "run"} now will finish; {plural(queue.pending, "job")}{" "}
          {queue.pending === 1 ? "is" : "are"} pending.
        </Confirm>
      )}
    </>
  );
}
