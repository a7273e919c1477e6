"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { get, part } from "@/lib/api";
import type { Job, LogLine, Progress } from "@/lib/documents";
import { useList } from "@/lib/paged-list";
import { keys } from "@/lib/query-keys";
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
  const [streamed, setStreamed] = useState<{ id: string; progress: Progress } | null>(null);

  const job = useQuery({
    queryKey: keys.job(id),
    queryFn: () => get("/api/jobs/{id}", { path: { id } }),
    enabled: on,
  });
  const history = useList("history", "/api/jobs/{id}/history", { path: { id } }, keys.history(id), on);
  const signals = useList("signals", "/api/jobs/{id}/signals", { path: { id } }, keys.signals(id), on);
  const action = job.data?.job.action;
  const diagram = useQuery({
    queryKey: keys.diagram(action),
    queryFn: () => get("/api/machines/{name}/diagram", { path: { name: action! } }),
    enabled: on && !!action,
    refetchInterval: false,
    staleTime: 60_000,
  });
  const children = useQuery({
    queryKey: keys.children(id),
    queryFn: async ({ signal }) => {
      const { jobs } = await get("/api/jobs", { query: { parent: id, limit: 100 }, signal });
      return jobs.reverse();
    },
    enabled: on && job.data !== undefined,
  });

  const found = job.data !== undefined;
  useEffect(() => {
    if (!on || !found) return;
    return follow({
      url: (cursor) => `${path}/events${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ""}`,
      events: ["status", "log", "progress", "changed"],
      on: (event, data) => {
        if (event === "log") return log.add(data as LogLine);
        if (event === "progress") return setStreamed({ id, progress: data as Progress });
        void client.invalidateQueries({ queryKey: keys.job(id) });
        return event === "status" && isTerminal((data as { state: Job["state"] }).state);
      },
      state: setStream,
    });
  }, [client, id, path, on, found, log]);

  const progress = streamed?.id === id ? streamed.progress : (job.data?.job.progress ?? null);
  return { job, history, signals, diagram, children: children.data ?? [], log, stream, progress };
}
