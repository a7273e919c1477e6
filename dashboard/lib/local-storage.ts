"use client";

import { useCallback, useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
const read = new Map<string, { text: string | null; value: unknown }>();

function subscribe(listener: () => void) {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** What this browser keeps under a name; the same everywhere on the page and in its other tabs. */
export function stored<T>(name: string, otherwise: T): T {
  const text = localStorage.getItem(name);
  const kept = read.get(name);
  if (kept && kept.text === text) return kept.value as T;
  let value: unknown = otherwise;
  try {
    if (text !== null) value = JSON.parse(text);
  } catch {
    localStorage.removeItem(name); // not ours, or from another time
  }
  read.set(name, { text, value });
  return value as T;
}

export function useStored<T>(name: string, otherwise: T): [T, (value: T) => void] {
  const value = useSyncExternalStore(
    subscribe,
    () => stored(name, otherwise),
    () => otherwise,
  );
  const set = useCallback(
    (next: T) => {
      localStorage.setItem(name, JSON.stringify(next));
      for (const listener of listeners) listener();
    },
    [name],
  );
  return [value, set];
}
