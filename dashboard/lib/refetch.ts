import type { Query, QueryClient } from "@tanstack/react-query";
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

const followed = new WeakSet<AnyQuery>();

/**
 * Reads answers again because something changed. One that is being read may be older than the change: it is not cut
 * off, since a slow one would never come, but read once more when it has come.
 */
export function readAgain(client: QueryClient, chosen: (query: AnyQuery) => boolean) {
  const reading = client.getQueryCache().findAll({ predicate: chosen, fetchStatus: "fetching" });
  void client.invalidateQueries({ predicate: chosen }, { cancelRefetch: false });
  for (const query of reading) {
    if (followed.has(query)) continue;
    followed.add(query);
    const again = () => {
      followed.delete(query);
      void client.invalidateQueries({ queryKey: query.queryKey, exact: true }, { cancelRefetch: false });
    };
    query.promise?.then(again, again);
  }
}

/** How often an answer is read while the stream is down; and while it fails, so that a page heals by itself. */
export const every =
  (ms: number) =>
  ({ state: { error } }: AnyQuery) => {
    if (error) return isRefused(error) ? (false as const) : Math.min(ms, 1500);
    return hasStream ? (false as const) : ms;
  };
