"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { get, part } from "@/lib/api";
import type { Change, Diagram, Job, LogLine, Signal } from "@/lib/documents";
import { useList } from "@/lib/list";
import { useMaybeSignedIn } from "@/lib/session";
import { follow, type StreamState } from "@/lib/stream";
import { isTerminal } from "@/ui/state";
import { LogStore } from "./log-store";

/** One job with everything around it, kept fresh by its own stream. */
export function useJob(id: string) {
  const client = useQueryClient();
  const asks = useMaybeSignedIn();
  const path = `/api/jobs/${part(id)}`;
  const on = asks && /^\d+$/.test(id);
  const log = useMemo(() => new LogStore(), [id]);
  const [stream, setStream] = useState<StreamState>("connecting");

  const job = useQuery({ queryKey: ["job", id], queryFn: () => get<{ job: Job }>(path), enabled: on, refetchInterval: (query) => (query.state.data && isTerminal(query.state.data.job.state) ? false : 3000) });
  const ended = job.data ? isTerminal(job.data.job.state) : false;
  const slow = ended ? 30_000 : 5000;
  const history = useList<Change, "history">("history", `${path}/history`, ["job", id, "history"], { on, interval: slow });
  const signals = useList<Signal, "signals">("signals", `${path}/signals`, ["job", id, "signals"], { on, interval: slow });
  const action = job.data?.job.action;
  const diagram = useQuery({
    queryKey: ["diagram", action], queryFn: () => get<{ diagram: Diagram }>(`/api/machines/${part(action!)}/diagram`), enabled: on && !!action,
    refetchInterval: false, staleTime: 60_000,
  });

  const found = job.data !== undefined;
  useEffect(() => {
    if (!on || !found) return;
    return follow({
      url: (cursor) => `${path}/events${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ""}`,
      events: ["status", "log"],
      on: (event, data) => {
        if (event === "log") return log.add(data as LogLine);
        void client.invalidateQueries({ queryKey: ["job", id] });
        return isTerminal((data as { state: Job["state"] }).state);
      },
      state: setStream,
    });
  }, [client, id, path, on, found, log]);

  return { job, history, signals, diagram, log, stream };
}
