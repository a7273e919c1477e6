// The types of each route, from the OpenAPI document: its parameters, its body and its response.

import type { Diagram, Job, Machine, Stats } from "./documents";
import type { paths } from "./openapi.gen";

type Routes = paths;
export type Method = "get" | "post" | "patch" | "delete";
export type RouteOf<M extends Method> = {
  [P in keyof Routes]: Routes[P] extends Record<M, object> ? P : never;
}[keyof Routes];
type Operation<M extends Method, P extends RouteOf<M>> = Routes[P] extends Record<M, infer O> ? O : never;

/** What the document calls "anything", by the name it has in answers. */
type Refined = {
  job: Job;
  jobs: Job[];
  machine: Machine;
  machines: Machine[];
  diagram: Diagram;
  stats: Stats;
};
type Json<R> = R extends { content: { "application/json": infer T } } ? T : undefined;
type Success<R> = R extends { 200: infer A }
  ? A
  : R extends { 201: infer A }
    ? A
    : R extends { 202: infer A }
      ? A
      : R extends { 204: infer A }
        ? A
        : never;
type Refine<T> = T extends object
  ? { [K in keyof T]: K extends keyof Refined ? (T[K] extends null | undefined ? T[K] : Refined[K]) : T[K] }
  : T;

/** What a route answers with when all is well. */
export type AnswerOf<M extends Method, P extends RouteOf<M>> =
  Operation<M, P> extends { responses: infer R } ? Refine<Json<Success<R>>> : never;

/** The body that a route takes; a route without one takes none. */
export type BodyOf<M extends Method, P extends RouteOf<M>> =
  Operation<M, P> extends { requestBody?: infer B } ? Json<NonNullable<B>> : undefined;

type Given = string | number | bigint | boolean | readonly string[] | null | undefined;
type Loose<T> = { [K in keyof T]?: Given };
/** The query of a route: only parameters that it has, in whatever form can be written into an address. */
export type QueryOf<M extends Method, P extends RouteOf<M>> =
  Operation<M, P> extends { parameters: { query?: infer Q } } ? Loose<NonNullable<Q>> : never;

type Names<P> = P extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never;
/** The parts of a route's path that stand in braces. */
export type PathOf<P> = [Names<P>] extends [never]
  ? { path?: undefined }
  : { path: Record<Names<P>, string | number | bigint> };
