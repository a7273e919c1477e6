"use client";

import { useSyncExternalStore } from "react";
import { stored, useStored } from "./local-storage";

// The browser's clock, corrected by the service's: ages are right on a machine whose clock is not.
let skew = 0;

export function learnClock(date: string | null) {
  if (!date) return;
  const difference = Date.parse(date) - Date.now();
  skew = Math.abs(difference) > 2000 ? difference : 0;
}

export const now = () => Date.now() + skew;

let second = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    second += 1;
    listeners.forEach((each) => each());
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** Renders again every second, by one timer for the whole page. */
export function useSecond() {
  return useSyncExternalStore(
    subscribe,
    () => second,
    () => 0,
  );
}

export function relative(at: string, from = now()): string {
  const difference = Date.parse(at) - from;
  const text = span(Math.abs(difference), false);
  if (Math.abs(difference) < 1000) return "now";
  return difference < 0 ? `${text} ago` : `in ${text}`;
}

/** A length of time in the largest unit that says it, from milliseconds; under ten minutes with its seconds, under
 *  ten days with its hours. */
export function span(ms: number, seconds = true): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s`;
  if (ms < 600_000 && seconds) {
    const left = Math.floor((ms % 60_000) / 1000);
    return `${Math.floor(ms / 60_000)} min${left ? ` ${left} s` : ""}`;
  }
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 86_400_000) {
    const minutes = Math.floor((ms % 3_600_000) / 60_000);
    return `${Math.floor(ms / 3_600_000)} h${minutes ? ` ${minutes} min` : ""}`;
  }
  const hours = Math.floor((ms % 86_400_000) / 3_600_000);
  return `${Math.floor(ms / 86_400_000)} d${hours && ms < 864_000_000 ? ` ${hours} h` : ""}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** In which zone times are shown: the browser's own, or UTC where that was chosen. */
export type Zone = "local" | "utc";
export const useZone = () => useStored<Zone>("zone", "local");
export const zone = (): string | undefined =>
  typeof localStorage !== "undefined" && stored<Zone>("zone", "local") === "utc" ? "UTC" : undefined;

export function exact(at: string, tz: string | undefined = zone()): string {
  const name = tz ?? "";
  let format = formats.get(name);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", {
      weekday: "short",
      day: "numeric",
      month: "short",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
      timeZone: tz,
      timeZoneName: "short",
    });
    formats.set(name, format);
  }
  return format.format(new Date(at));
}

export function clock(at: string): string {
  return local(at, true).slice(11);
}

export const ownZone = () => zone() ?? (Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC");

/** An instant as a field for local time shows it, and back; what is no time stays as it is, for the service to refuse. */
export function local(at: string, milliseconds = false): string {
  const date = new Date(at);
  const offset = zone() ? 0 : date.getTimezoneOffset() * 60_000;
  return new Date(date.getTime() - offset).toISOString().slice(0, milliseconds ? 23 : 19);
}

export function instant(text: string): string {
  const bare = /^\d{4}-\d\d-\d\dT[\d:.]+$/.test(text);
  const date = new Date(bare && zone() ? `${text}Z` : text);
  return Number.isNaN(date.getTime()) ? text : date.toISOString();
}
