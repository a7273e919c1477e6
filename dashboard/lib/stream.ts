"use client";

import { base } from "./base-path";
import { read } from "./json";

export type StreamState = "connecting" | "open" | "lost" | "ended";

type Follow = {
  url: (cursor: string | null) => string;
  events: readonly string[];
  /** Answers true when the stream is over and must not be opened again. */
  on: (event: string, data: never, id: string | null) => unknown;
  state?: (state: StreamState) => void;
};

/**
 * Follows a stream of events until stopped. A lost one is opened again from the last cursor seen; a hidden tab
 * holds no connection (browsers allow six per host) and catches up when it is looked at.
 */
export function follow({ url, events, on, state }: Follow): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let cursor: string | null = null;
  let failures = 0;
  let over = false;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };

  const open = () => {
    close();
    if (over || document.hidden) return;
    const mine = new EventSource(base() + url(cursor));
    source = mine;
    mine.onopen = () => {
      failures = 0;
      state?.("open");
    };
    mine.onerror = () => {
      if (source !== mine) return;
      close();
      failures += 1;
      state?.("lost");
      timer = setTimeout(open, Math.min(500 * 2 ** (failures - 1), 8000) * (0.75 + Math.random() / 2));
    };
    for (const name of events) {
      mine.addEventListener(name, (event) => {
        if (source !== mine) return;
        const message = event as MessageEvent<string>;
        if (message.lastEventId) cursor = message.lastEventId;
        if (on(name, read(message.data) as never, message.lastEventId || null) === true) {
          over = true;
          close();
          state?.("ended");
        }
      });
    }
  };

  const look = () => (document.hidden ? close() : source === null && open());
  document.addEventListener("visibilitychange", look);
  // A browser that says it is offline may keep a connection that carries nothing any more, and may still reach a
  // service on its own machine: only a new connection tells.
  const changed = () => (navigator.onLine || source !== null) && open();
  window.addEventListener("online", changed);
  window.addEventListener("offline", changed);
  state?.("connecting");
  open();
  return () => {
    over = true;
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("online", changed);
    window.removeEventListener("offline", changed);
    close();
  };
}
