import type { Query } from "@tanstack/react-query";
import { ApiError } from "./api";

/** Whether the service understood and said no: asking again the same way changes nothing. */
export const isRefused = (error: Error) =>
  error instanceof ApiError && error.status < 500 && error.status !== 429;

let hasStream = false;

/** Says whether the stream of changes is open: it says what is stale, and then nothing is read at intervals. */
export function streamIsOpen(open: boolean) {
  hasStream = open;
}

// biome-ignore lint/suspicious/noExplicitAny: a query of any kind is asked only for its error
type AnyQuery = Query<any, any, any, any>;

/** How often an answer is read while the stream is down; and while it fails, so that a page heals by itself. */
export const every =
  (ms: number) =>
  ({ state: { error } }: AnyQuery) => {
    if (error) return isRefused(error) ? (false as const) : Math.min(ms, 1500);
    return hasStream ? (false as const) : ms;
  };
