import { STATES, type JobState } from "@/lib/lifecycle.gen";
import { instant } from "@/lib/time";

export type Filter = {
  state: JobState[]; action: string | null; queue: string | null; tag: string | null; key: string | null; schedule: string | null;
  text: string | null; from: string | null; to: string | null;
};

export const NAMES = ["action", "queue", "tag", "key", "schedule", "text", "from", "to"] as const;

export function filterOf(params: URLSearchParams): Filter {
  const wanted = params.getAll("state");
  const filter = { state: STATES.filter((state) => wanted.includes(state)) } as Filter;
  for (const name of NAMES) filter[name] = params.get(name) || null;
  return filter;
}

/** The filter as the service takes it: only what is set; times as instants. */
export function asQuery(filter: Filter): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  if (filter.state.length) query.state = filter.state;
  for (const name of NAMES) {
    const value = filter[name];
    if (value) query[name] = name === "from" || name === "to" ? instant(value) : value;
  }
  return query;
}

export const isSet = (filter: Filter) => filter.state.length > 0 || NAMES.some((name) => filter[name]);

/** One sentence about what the filter lets through. */
export function say(filter: Filter): string {
  const parts = NAMES.filter((name) => filter[name]).map((name) => `${name} ${filter[name]}`);
  if (filter.state.length) parts.unshift(filter.state.join(" or "));
  return parts.length ? parts.join(", ") : "all jobs";
}
