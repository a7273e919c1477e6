// Requests that must not compile. The compiler is the test: an `@ts-expect-error` above a line that compiles is an error of `npm run check` and of the build.

import { bodyOf } from "@/features/job/ask";
import { get, patch, post, remove, request } from "@/lib/api";
import { REQUESTS } from "@/lib/lifecycle.gen";
import { readPages } from "@/lib/paged-list";

export const allowed = [
  () => get("/api/jobs"),
  () => get("/api/jobs", { query: { state: ["failed"], input: ["email:a@example.com"], limit: 50 } }),
  () => get("/api/jobs/{id}", { path: { id: 2n ** 60n } }),
  () => post("/api/jobs", { body: { action: "greet", input: { name: "Ada" } } }),
  () => post("/api/jobs/{id}/cancel", { path: { id: "7" } }),
  () => patch("/api/webhooks/{id}", { path: { id: 1 }, body: { paused: true } }),
  () => remove("/api/webhooks/{id}", { path: { id: 1 } }),
  () => request(REQUESTS[0]!, 7, bodyOf({ delay: "1h", reason: "late" })),
];

export const wrongRoutes = [
  // @ts-expect-error there is no such route
  () => get("/api/job"),
  // @ts-expect-error the route takes no POST
  () => post("/api/stats"),
  // @ts-expect-error jobs are not deleted as a list
  () => remove("/api/jobs"),
];

export const wrongPaths = [
  // @ts-expect-error the path needs an id
  () => get("/api/jobs/{id}"),
  // @ts-expect-error the parameter is called id
  () => get("/api/jobs/{id}", { path: { job: 7 } }),
  // @ts-expect-error an id is a number
  () => get("/api/jobs/{id}", { path: { id: true } }),
];

export const wrongQueries = [
  // @ts-expect-error the parameter is called state
  () => get("/api/jobs", { query: { status: "failed" } }),
  // @ts-expect-error there is no such state
  () => get("/api/jobs", { query: { state: ["done"] } }),
  // @ts-expect-error a limit is a number
  () => get("/api/jobs", { query: { limit: true } }),
  // @ts-expect-error an action is one text
  () => get("/api/jobs", { query: { action: ["greet", "fail"] } }),
  // @ts-expect-error the route has no parameters
  () => get("/api/queues/{name}", { path: { name: "mail" }, query: { limit: 3 } }),
  // @ts-expect-error the parameter is called all
  () => readPages("alarms", "/api/alarms", { query: { cleared: true } }, 1),
  // @ts-expect-error the route lists no jobs
  () => readPages("jobs", "/api/alarms", {}, 1),
];

export const wrongBodies = [
  // @ts-expect-error a job needs an action
  () => post("/api/jobs"),
  // @ts-expect-error a job needs an action
  () => post("/api/jobs", { body: {} }),
  // @ts-expect-error the member is called input
  () => post("/api/jobs", { body: { action: "greet", arguments: {} } }),
  // @ts-expect-error tags are texts
  () => post("/api/jobs", { body: { action: "greet", tags: [1] } }),
  // @ts-expect-error there is nothing to change
  () => patch("/api/jobs/{id}", { path: { id: 7 } }),
  // @ts-expect-error the route takes no body
  () => post("/api/workers/{id}/drain", { path: { id: "w" }, body: { now: true } }),
  // @ts-expect-error no request has this field
  () => request(REQUESTS[0]!, 7, { why: "late" }),
  // @ts-expect-error a request has fields, not text
  () => request(REQUESTS[0]!, 7, "late"),
  // @ts-expect-error a read takes no body
  () => get("/api/jobs", { body: {} }),
];

export const wrongAnswers = [
  // @ts-expect-error the answer has a job, not jobs
  async () => (await get("/api/jobs/{id}", { path: { id: 7 } })).jobs,
  // @ts-expect-error a job has no status
  async () => (await get("/api/jobs")).jobs[0]?.status,
];
