// The name of every answer that is kept, in one place: who changes something says here what has become stale.

type Part = string | number | bigint | boolean | null | undefined;

export const keys = {
  session: ["session"],
  stats: ["stats"],
  machines: ["machines"],
  queues: ["queues"],
  queue: (name: string) => ["queues", "one", name],
  workers: ["workers"],
  schedules: ["schedules"],
  alarms: ["alarms"],
  alarmList: (which: "open" | "all" | "now") => ["alarms", which],
  jobs: ["jobs"],
  jobList: (filter: object, cursor: string | null) => ["jobs", "list", filter, cursor],
  jobCounts: (filter: object) => ["jobs", "counts", filter],
  runningNow: ["jobs", "now"],
  job: (id: Part) => ["job", String(id)],
  history: (id: Part) => ["job", String(id), "history"],
  signals: (id: Part) => ["job", String(id), "signals"],
  // Other jobs than the one whose page it is: a change of any can make them stale.
  children: (id: Part) => ["jobs", "children", String(id)],
  childHistory: (id: Part) => ["jobs", "history", String(id)],
  retries: (id: Part) => ["jobs", "retries", String(id)],
  diagram: (action: string | undefined) => ["diagram", action],
  machine: (name: string) => ["machine", name],
  worker: (id: string) => ["workers", "one", id],
  workerJobs: (id: string) => ["jobs", "worker", id],
  schedule: (name: string) => ["schedule", name],
  ticks: (name: string) => ["schedule", name, "ticks"],
  missed: (name: string, start: string, end: string) => ["missed", name, start, end],
  series: (scope: object, range: string) => ["series", scope, range],
  endedJobs: (scope: object) => ["ended-jobs", scope],
  errors: (filter: object) => ["errors", filter],
  intent: (text: string, tz: string | undefined) => ["intent", text, tz],
  bulk: (request: string | undefined, filter: object) => ["bulk", request, filter],
  accessKeys: ["keys"],
  webhooks: ["webhooks"],
  audit: (cursor: string | null) => ["audit", cursor],
};

/** What a change of any job can make stale. */
export const MOVED: readonly string[] = ["stats", "jobs", "queues", "errors", "ended-jobs", "workers"];

/** What is counted from the same changes, and costs more to read. */
export const PLOTTED: readonly string[] = ["series"];

/** What a change of a list makes stale, by the name the stream knows the list by. */
export const LISTED: Record<string, readonly string[]> = {
  jobs: ["stats", "jobs", "queues"],
  audit: ["audit"],
  keys: ["keys"],
  machines: ["machines", "machine", "diagram"],
  queues: ["queues"],
  schedules: ["schedules", "schedule", "stats"],
  webhooks: ["webhooks"],
  heartbeats: ["workers"],
  workers: ["workers", "machines", "machine", "stats"],
};
