"use client";

import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "./api";
import type { AnswerOf, PathOf, QueryOf, RouteOf } from "./api-types";
import { useMaybeSignedIn } from "./session";

type Page<Name extends string, Row> = Record<Name, Row[]> & { nextCursor: string | null };
export type List<Name extends string, Row> = {
  query: UseQueryResult<Page<Name, Row>>;
  hasMore: boolean;
  more: () => void;
};

/** The rows that a route lists under a name. */
type RowOf<P extends RouteOf<"get">, Name> = Name extends keyof AnswerOf<"get", P>
  ? AnswerOf<"get", P>[Name] extends readonly (infer Row)[]
    ? Row
    : never
  : never;
/** The names under which a route lists rows. */
type ListOf<P extends RouteOf<"get">> = {
  [Name in keyof AnswerOf<"get", P>]: AnswerOf<"get", P>[Name] extends readonly unknown[] ? Name : never;
}[keyof AnswerOf<"get", P>] &
  string;
type Where<P extends RouteOf<"get">> = PathOf<"get", P> & { query?: QueryOf<"get", P> };

/** A list of the service: its first page, and one more each time that is asked for. All of them are kept fresh. */
export function useList<P extends RouteOf<"get">, Name extends ListOf<P>>(
  name: Name,
  route: P,
  where: Where<P>,
  key: readonly unknown[] = [name],
  on = true,
): List<Name, RowOf<P, Name>> {
  const [pages, setPages] = useState(1);
  const enabled = useMaybeSignedIn() && on;
  const query = useQuery({
    queryKey: [...key, pages],
    queryFn: ({ signal }) => readPages(name, route, where, pages, signal),
    enabled,
    placeholderData: pages > 1 ? keepPreviousData : undefined,
  });
  return { query, hasMore: !!query.data?.nextCursor, more: () => setPages(pages + 1) };
}

export async function readPages<P extends RouteOf<"get">, Name extends ListOf<P>>(
  name: Name,
  route: P,
  where: Where<P>,
  pages: number,
  signal?: AbortSignal,
): Promise<Page<Name, RowOf<P, Name>>> {
  type Row = RowOf<P, Name>;
  // The compiler cannot follow a route that is still a variable; that it is a list was checked where it was named.
  const ask = get as unknown as (route: P, asked: object) => Promise<Page<Name, Row>>;
  const rows: Row[] = [];
  let cursor: string | null = null;
  for (let number = 0; number < pages; number += 1) {
    const page: Page<Name, Row> = await ask(route, { ...where, query: { ...where.query, cursor }, signal });
    rows.push(...page[name]);
    cursor = page.nextCursor;
    if (!cursor) break;
  }
  return { [name]: rows, nextCursor: cursor } as Page<Name, Row>;
}
