"use client";

import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useMemo, useRef, useState } from "react";
import type { Pulse, StartCounts } from "./documents";
import { keys, LISTED, MOVED, PLOTTED } from "./query-keys";
import { readAgain, streamIsOpen } from "./refetch";
import { useSession } from "./session";
import { follow, type StreamState } from "./stream";
import { now } from "./time";

/** What passed on the stream: committed changes, or how many jobs were accepted and picked. */
export type Passed = { pulse: Pulse } | { counts: StartCounts };
type Listener = (passed: Passed) => void;
type Live = {
  state: StreamState;
  /** Until when changes were seen at once. */
  liveUntil: number;
  onPassed: (listener: Listener) => () => void;
};

const Context = createContext<Live>({ state: "connecting", liveUntil: 0, onPassed: () => () => {} });
export const useLive = () => useContext(Context);

// What a change can make stale is read again at most this often, and once more when no more changes come: counts are
// made a moment after the changes that they count.
const AT_MOST_EVERY = 1000;
const AFTER_THE_LAST = 2500;
const AFTER_THE_BEGIN = 1500;
const PLOTS_AT_MOST_EVERY = 10_000;

/** One stream for the tab: it pulses the diagram and says which answers are stale. */
export function LiveProvider({ children }: { children: React.ReactNode }) {
  const client = useQueryClient();
  const session = useSession();
  const [state, setState] = useState<StreamState>("connecting");
  const [liveUntil, setLiveUntil] = useState(0);
  const listeners = useRef(new Set<Listener>());

  useEffect(() => {
    if (!session) return;
    let waiting: ReturnType<typeof setTimeout> | undefined;
    let last: ReturnType<typeof setTimeout> | undefined;
    let plotted = 0;
    const stale = new Set<string>();
    const refresh = (names?: readonly string[]) =>
      readAgain(client, ({ queryKey: [first] }) =>
        names ? names.includes(String(first)) : first !== keys.session[0],
      );
    const refreshSoon = (names: readonly string[]) => {
      for (const name of names) stale.add(name);
      waiting ??= setTimeout(() => {
        waiting = undefined;
        const late = performance.now() - plotted > PLOTS_AT_MOST_EVERY;
        if (late) plotted = performance.now();
        refresh([...stale, ...(late ? PLOTTED : [])]);
        stale.clear();
      }, AT_MOST_EVERY);
    };
    const tell = (passed: Passed) => {
      for (const listener of listeners.current) listener(passed);
      refreshSoon(MOVED);
      clearTimeout(last);
      last = setTimeout(() => refresh([...MOVED, ...PLOTTED]), AFTER_THE_LAST);
    };
    let current: StreamState = "connecting";
    const become = (next: StreamState) => {
      if (current === "open" && next !== "open") setLiveUntil(now());
      current = next;
      setState(next);
      streamIsOpen(next === "open");
    };
    const stop = follow({
      url: () => "/api/events?summary=true",
      events: ["begin", "pulse", "counts", "alarm", "lists"],
      on: (event, data) => {
        if (event === "begin") {
          become("open");
          // The stream says nothing about changes before it began, and counts may be a second old.
          clearTimeout(last);
          last = setTimeout(() => refresh(), AFTER_THE_BEGIN);
        } else if (event === "alarm") refreshSoon(["alarms", "stats"]);
        else if (event === "lists")
          refreshSoon((data as { changed: string[] }).changed.flatMap((name) => LISTED[name] ?? []));
        else if (event === "pulse") tell({ pulse: data });
        else tell({ counts: data });
      },
      state: (next) => {
        if (next === "open") return; // connected; it is open once it has begun
        become(next);
        if (next === "lost") {
          void client.invalidateQueries({ queryKey: keys.session });
          refresh(); // from here on, answers are read at intervals
        }
      },
    });
    return () => {
      clearTimeout(waiting);
      clearTimeout(last);
      stop();
      streamIsOpen(false);
    };
    // A renewed session is the same person: only its coming and going matters.
  }, [client, session === null]);

  const value = useMemo<Live>(
    () => ({
      state,
      liveUntil,
      onPassed: (listener) => {
        listeners.current.add(listener);
        return () => void listeners.current.delete(listener);
      },
    }),
    [state, liveUntil],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}
