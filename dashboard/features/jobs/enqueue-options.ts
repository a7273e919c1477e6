import type { BodyOf } from "@/lib/api-types";
import type { Job, Machine } from "@/lib/documents";

/** Options of a job as they are typed. */
export type Options = Record<"queue" | "priority" | "key" | "unique" | "tags" | "ttl" | "retry", string>;

export const NO_OPTIONS: Options = {
  queue: "",
  priority: "",
  key: "",
  unique: "",
  tags: "",
  ttl: "",
  retry: "",
};

export const OPTION_FIELDS = [
  ["queue", "Queue", "empty: the queue of the action"],
  ["priority", "Priority", "a lower number goes first"],
  ["key", "Key", "one job of a key runs at a time"],
  ["unique", "Unique", "one live job of this name"],
  ["tags", "Tags", "separated by commas"],
  ["ttl", "TTL", "10m, 1h: expires if it has not started by then"],
  ["retry", "Attempts", "how many in all, instead of the action’s own"],
] as const;

/** The options that another job was enqueued with; the queue of its machine needs not be named. */
export const optionsOf = (job: Job, machine: Machine | undefined): Options => ({
  ...NO_OPTIONS,
  queue: job.queue === machine?.queue ? "" : job.queue,
  priority: job.priority ? String(job.priority) : "",
  key: job.key ?? "",
  unique: job.unique ?? "",
  tags: job.tags.every((tag) => !tag.includes(",")) ? job.tags.join(", ") : "",
  retry: job.retry ? String(job.retry.attempts) : "",
});

type EnqueueOptions = Omit<BodyOf<"post", "/api/jobs">, "action" | "input">;

/** The options as the service takes them: only those that were filled in. */
export function asOptions(given: Options): EnqueueOptions {
  const options: EnqueueOptions = {};
  for (const name of ["queue", "key", "unique", "ttl"] as const)
    if (given[name].trim()) options[name] = given[name].trim();
  if (given.priority.trim()) options.priority = whole(given.priority);
  if (given.retry.trim()) options.retry = { attempts: whole(given.retry) };
  const tags = given.tags
    .split(",")
    .map((tag) => tag.trim())
    .filter(Boolean);
  if (tags.length) options.tags = tags;
  return options;
}

/** A whole number; what is none is left for the service to refuse. */
const whole = (text: string) => (/^-?\d+$/.test(text.trim()) ? Number(text) : text);

/** The input of another job without what its machine hides: that is to be typed again. */
export function withoutHidden(input: unknown, machine: Machine | undefined): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(Object.entries(input).filter(([name]) => !machine?.redact.includes(name)));
}
