"use client";

import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useMemo, useRef, useState } from "react";
import type { Pulse } from "./documents";
import { useSession } from "./session";
import { follow, type StreamState } from "./stream";

type Listener = (pulse: Pulse) => void;
type Live = { state: StreamState; onPulse: (listener: Listener) => () => void };

const Context = createContext<Live>({ state: "connecting", onPulse: () => () => {} });
export const useLive = () => useContext(Context);

// What a change of any job can make stale; read again at most this often.
const MOVED = ["stats", "jobs", "queues"];
const AT_MOST_EVERY = 1000;

/** One stream for the tab: it pulses the diagram and says which answers are stale. */
export function LiveProvider({ children }: { children: React.ReactNode }) {
  const client = useQueryClient();
  const session = useSession();
  const [state, setState] = useState<StreamState>("connecting");
  const listeners = useRef(new Set<Listener>());

  useEffect(() => {
    if (!session) return;
    let waiting: ReturnType<typeof setTimeout> | undefined;
    let lost = false;
    const refresh = (keys?: string[]) =>
      client.invalidateQueries({ predicate: (query) => (keys ? keys.includes(String(query.queryKey[0])) : query.queryKey[0] !== "session") }, { cancelRefetch: false });
    const stop = follow({
      url: () => "/api/events?summary=true",
      events: ["pulse", "alarm"],
      on: (event, data) => {
        if (event === "alarm") return void refresh(["alarms", "stats"]);
        listeners.current.forEach((listener) => listener(data));
        waiting ??= setTimeout(() => {
          waiting = undefined;
          void refresh(MOVED);
        }, AT_MOST_EVERY);
      },
      state: (next) => {
        setState(next);
        if (next === "lost") {
          lost = true;
          void client.invalidateQueries({ queryKey: ["session"] });
        } else if (next === "open" && lost) {
          lost = false;
          void refresh();
        }
      },
    });
    return () => {
      clearTimeout(waiting);
      stop();
    };
    // A renewed session is the same person: only its coming and going matters.
  }, [client, session === null]);

  const value = useMemo<Live>(() => ({
    state,
    onPulse: (listener) => {
      listeners.current.add(listener);
      return () => void listeners.current.delete(listener);
    },
  }), [state]);
  return <Context.Provider value={value}>{children}</Context.Provider>;
}
