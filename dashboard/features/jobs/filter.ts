import type { QueryOf } from "@/lib/api-types";
import { type JobState, STATES } from "@/lib/lifecycle.gen";
import { instant } from "@/lib/time";
import { visibleLine } from "@/lib/visible-text";

/** How the bar sets a filter: in a menu, in a field behind "More filters", or only by taking its chip away. */
type Shown =
  | { in: "menu"; label: string }
  | { in: "field"; label: string; time?: true }
  | { in: "chip"; say: (value: string) => string };

/** Filters of one value, by the names that the service and the address know them by; none may be left out. */
export const FILTERS = {
  action: { in: "menu", label: "Action" },
  queue: { in: "menu", label: "Queue" },
  text: { in: "chip", say: (text) => `“${visibleLine(text)}”` },
  parent: { in: "chip", say: (id) => `children of ${id}` },
  retryOf: { in: "chip", say: (id) => `retries of ${id}` },
  errorText: { in: "chip", say: (words) => `error: ${visibleLine(words)}` },
  error: { in: "chip", say: () => "same error" },
  tag: { in: "field", label: "Tag" },
  key: { in: "field", label: "Key" },
  schedule: { in: "field", label: "Schedule" },
  from: { in: "field", label: "Accepted from", time: true },
  to: { in: "field", label: "Accepted before", time: true },
} as const satisfies Record<Exclude<keyof QueryOf<"get", "/api/jobs/counts">, "state" | "input">, Shown>;
type Name = keyof typeof FILTERS;
const ALL = Object.entries<Shown>(FILTERS) as [Name, Shown][];
const NAMES = ALL.map(([name]) => name);

/** The filters that the bar sets in one of these ways. */
export const shownIn = <W extends Shown["in"]>(where: W) =>
  ALL.filter((each): each is [Name, Extract<Shown, { in: W }>] => each[1].in === where);

export type Filter = { state: JobState[]; input: string[] } & Record<Name, string | null>;

export function filterOf(params: URLSearchParams): Filter {
  const wanted = params.getAll("state");
  const filter = {
    state: STATES.filter((state) => wanted.includes(state)),
    input: params.getAll("input"),
  } as Filter;
  for (const name of NAMES) filter[name] = params.get(name) || null;
  return filter;
}

type JobFilters = { state?: JobState[]; input?: string[] } & { [N in Name]?: string };

/** The filter as the service takes it: only what is set; times as instants. */
export function asQuery(filter: Filter): JobFilters {
  const query: JobFilters = {};
  if (filter.state.length) query.state = filter.state;
  if (filter.input.length) query.input = filter.input;
  for (const [name, shown] of ALL) {
    const value = filter[name];
    if (value) query[name] = "time" in shown ? instant(value) : value;
  }
  return query;
}

export const isSet = (filter: Filter) =>
  filter.state.length > 0 || filter.input.length > 0 || NAMES.some((name) => filter[name]);

/** What takes every filter away. */
export const CLEARED: Record<string, null> = Object.fromEntries(
  ["state", "input", "cursor", ...NAMES].map((name) => [name, null]),
);

/** One sentence about what the filter lets through. */
export function say(filter: Filter): string {
  const parts = NAMES.filter((name) => filter[name]).map((name) => `${name} ${filter[name]}`);
  parts.unshift(...filter.input.map(sayArgument));
  if (filter.state.length) parts.unshift(filter.state.join(" or "));
  return parts.length ? parts.join(", ") : "all jobs";
}

/** An argument that is filtered by: `email:a@example.com`, or `*:…` where any argument may have the value. */
export const sayArgument = (entry: string) =>
  entry.startsWith(ANY) ? `any argument: ${entry.slice(ANY.length)}` : entry;
/** Stands before the value of an argument of any name. */
export const ANY = "*:";

const WORDS: Record<string, Name | "state"> = {
  ...Object.fromEntries(NAMES.filter((name) => name !== "text").map((name) => [name, name])),
  state: "state",
};
// A word, or name:value, where * is any argument; a value with spaces stands in quotes. "ValueError: bad" and "http://…" are text.
const TOKEN = /(\*|[A-Za-z_][\w.-]*):(?!\/\/)("[^"]*"|\S+)|"[^"]*"|\S+/g;
const unquoted = (text: string) => text.replace(/^"(.*)"$/, "$1");

/** Parse search text such as `email:a@example.com tag:vip some words` into the filters of the URL. */
export type Found = Record<string, string | string[] | null>;
export function parseSearch(typed: string): Found {
  const found: Found = {};
  const input: string[] = [];
  const state: string[] = [];
  const words: string[] = [];
  for (const [token, name, value] of typed.matchAll(TOKEN)) {
    if (name === undefined || value === undefined) words.push(unquoted(token));
    else if (WORDS[name] === "state") state.push(unquoted(value));
    else if (WORDS[name]) found[WORDS[name]] = unquoted(value);
    else input.push(`${name}:${unquoted(value)}`);
  }
  if (input.length) found.input = input;
  if (state.length) found.state = state;
  if (words.length) found.text = words.join(" ");
  return found;
}

/**
 * The same, where `has` knows whether any job passes a filter: what no filter was named for is the first of argument,
 * key, tag, action and words of an error that some job has. Each of them is answered by an index, unlike text.
 */
export async function parseFound(typed: string, has: (filter: Found) => Promise<boolean>): Promise<Found> {
  const { text, input, ...found } = parseSearch(typed);
  const add = async (term: string, argument: string, otherwise: Found) => {
    const meanings: Found[] = [
      { input: [argument] },
      { key: term },
      { tag: term },
      { action: term },
      { errorText: term },
    ];
    const answers = await Promise.all(meanings.map(has));
    const { input: more, ...rest } = meanings[answers.indexOf(true)] ?? otherwise;
    if (more) found.input = [...(found.input ?? []), ...more];
    Object.assign(found, rest);
  };
  for (const entry of input ?? []) await add(entry, entry, { input: [entry] });
  if (typeof text === "string") await add(text, ANY + text, { text });
  return found;
}
