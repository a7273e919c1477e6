import type { Query } from "@tanstack/react-query";
import { ApiError } from "./api";

/** Whether the service understood and said no: asking again the same way changes nothing. */
export const isRefused = (error: Error) => error instanceof ApiError && error.status < 500 && error.status !== 429;

// What starts is not in the stream of changes: lists of jobs and their counts look for it this often.
export const SOON = 2000;

/** How often an answer is read again, under the stream; sooner while it fails, so that a page heals by itself. */
export const every = (ms: number) => ({ state: { error } }: Query<any, any, any, any>) => (!error ? ms : isRefused(error) ? false : Math.min(ms, 1500));
