"use client";

import type { AnswerOf, BodyOf, Method, Rest, Route, RouteOf } from "./api-types";
import { base } from "./base-path";
import type { Job } from "./documents";
import { read, write } from "./json";
import type { JobRequest, RequestPath } from "./lifecycle.gen";
import { learnClock, now } from "./time";

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly details: Record<string, unknown>,
    readonly requestId: string | null,
  ) {
    super(message);
  }
}

export class Unreachable extends Error {
  constructor() {
    super("The service cannot be reached.");
  }
}

let answered = 0;
/** When the service last answered with success, by the clock of `now`. */
export const answeredAt = () => answered;

let csrf = "";
export const setCsrf = (token: string) => {
  csrf = token;
};

const signedOut = new Set<() => void>();
/** Calls `listener` whenever an answer says that the session is gone. */
export function onSignedOut(listener: () => void) {
  signedOut.add(listener);
  return () => void signedOut.delete(listener);
}

export type Query = Record<string, string | number | bigint | boolean | readonly string[] | null | undefined>;
type Options = {
  path?: Record<string, string | number | bigint>;
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  quiet?: boolean;
};

async function call<T>(method: string, route: Route, options: Options = {}): Promise<T> {
  const path = route.replace(/\{(\w+)\}/g, (_, name: string) => part(options.path?.[name] ?? ""));
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET" && csrf) headers["X-CSRF-Token"] = csrf;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(base() + path + search(options.query), {
      method,
      headers,
      signal: options.signal,
      credentials: "same-origin",
      body: options.body === undefined ? undefined : write(options.body),
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Unreachable();
  }
  learnClock(response.headers.get("Date"));
  const text = await response.text();
  if (response.ok) answered = now();
  if (response.ok) return text ? read<T>(text) : (undefined as T);
  if (response.status === 401 && !options.quiet) signedOut.forEach((listener) => listener());
  throw refusal(response, text);
}

/** A request to a route of the service, typed by its OpenAPI document: path, query, body and answer. */
const asking =
  <M extends Method>(method: M) =>
  <P extends RouteOf<M>>(route: P, ...[asked]: Rest<M, P>): Promise<AnswerOf<M, P>> =>
    call(method.toUpperCase(), route, asked as Options | undefined);

export const get = asking("get");
export const post = asking("post");
export const patch = asking("patch");
export const remove = asking("delete");

/** The fields that the requests of the lifecycle's table take. */
export type RequestBody = BodyOf<"post", Extract<RequestPath, RouteOf<"post">>>;
/** A request of one job, by the method and the path that the lifecycle's table names. */
export const request = (asked: JobRequest, id: Job["id"], body?: RequestBody) =>
  call<{ job?: Job }>(asked.method, asked.path, { path: { id }, body });

export function search(query: Query = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    if (Array.isArray(value)) value.forEach((each) => pairs.append(name, each));
    else pairs.append(name, String(value));
  }
  const text = pairs.toString();
  return text && `?${text}`;
}

export const part = (name: string | number | bigint) => encodeURIComponent(String(name));

/** What the service says about single fields, by their names: `tags[0]` and `input.name` are told at `tags` and `input`. */
export function faults(error: Error | null): Record<string, string> {
  if (!(error instanceof ApiError)) return {};
  const { field, errors } = error.details as {
    field?: unknown;
    errors?: { field: string; message: string }[];
  };
  const all = errors ?? (typeof field === "string" ? [{ field, message: error.message }] : []);
  return Object.fromEntries(all.map((each) => [each.field.replace(/[.[].*$/, ""), each.message]).reverse());
}

function refusal(response: Response, text: string): ApiError {
  try {
    const { error, requestId } = read<{
      error: { code: string; message: string; details?: Record<string, unknown> };
      requestId: string;
    }>(text);
    return new ApiError(error.message, response.status, error.code, error.details ?? {}, requestId);
  } catch {
    return new ApiError(
      `The service answered ${response.status}.`,
      response.status,
      "UNKNOWN",
      {},
      response.headers.get("X-Request-Id"),
    );
  }
}
