// The types of each route, from the OpenAPI document: its parameters, its body and its response.

import type { Diagram, Job, Machine, Stats } from "./documents";
import type { paths } from "./openapi.gen";

type Routes = paths;
export type Route = keyof Routes;
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

type BodyPart<O> = O extends { requestBody: infer B }
  ? { body: Written<Json<B>> }
  : O extends { requestBody?: infer B }
    ? { body?: [NonNullable<B>] extends [never] ? undefined : Written<Json<NonNullable<B>>> }
    : { body?: undefined };
/** The body that a route takes; a route without one takes none. */
export type BodyOf<M extends Method, P extends RouteOf<M>> =
  Operation<M, P> extends { requestBody?: infer B } ? Written<Json<NonNullable<B>>> : never;

/** Values as they are sent: a number may be a bigint, or text from an address or a form; the service refuses text that is no number. */
type Written<T> = T extends number
  ? number | bigint | string
  : T extends readonly (infer Item)[]
    ? readonly Written<Item>[]
    : T extends object
      ? { [K in keyof T]: Written<T[K]> }
      : T;
type Parameters<O, In extends "path" | "query"> = O extends { parameters: { [I in In]?: infer Q } }
  ? NonNullable<Q>
  : never;

/** The query of a route: only parameters that it has, with values that it takes. */
export type QueryOf<M extends Method, P extends RouteOf<M>> = [Parameters<Operation<M, P>, "query">] extends [
  never,
]
  ? { readonly [name: string]: never }
  : Nullable<Written<Parameters<Operation<M, P>, "query">>>;
type Nullable<T> = { [K in keyof T]: T[K] | null };

/** The parameters that stand in the path of a route. */
export type PathOf<M extends Method, P extends RouteOf<M>> = [Parameters<Operation<M, P>, "path">] extends [
  never,
]
  ? { path?: undefined }
  : { path: Written<Parameters<Operation<M, P>, "path">> };

/** What is given with a request. */
type Asked<M extends Method, P extends RouteOf<M>> = PathOf<M, P> &
  BodyPart<Operation<M, P>> & { query?: QueryOf<M, P>; signal?: AbortSignal; quiet?: boolean };

/** A route that needs neither a path parameter nor a body may be asked for by its path alone. */
export type Rest<M extends Method, P extends RouteOf<M>> =
  Record<never, never> extends Asked<M, P> ? [asked?: Asked<M, P>] : [asked: Asked<M, P>];
