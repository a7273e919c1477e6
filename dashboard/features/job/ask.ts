import { request } from "@/lib/api";
import type { Job } from "@/lib/documents";
import { type JobRequest, REQUESTS } from "@/lib/lifecycle.gen";

/** What was filled in for a request, by the names of its fields. */
export type Details = { delay?: string; reason?: string };

/** The requests that the state of a job allows, in the order of the table. */
export const requestsOf = (job: Job): JobRequest[] => REQUESTS.filter((each) => job.can.includes(each.name));

/** Makes a request of one job. */
export const ask = (job: Job, asked: JobRequest, details: Details = {}) =>
  request(asked, job.id, bodyOf(details));

/** The fields that were filled in; nothing where none was. */
export function bodyOf(details: Details): Details | undefined {
  const given = Object.entries(details)
    .map(([name, text]) => [name, text.trim()])
    .filter(([, text]) => text);
  return given.length ? Object.fromEntries(given) : undefined;
}
