"use client";

import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { get, type Query } from "./api";
import { every } from "./fresh";
import { useMaybeSignedIn } from "./session";

type Page<Name extends string, Row> = Record<Name, Row[]> & { nextCursor: string | null };
export type List<Name extends string, Row> = { query: UseQueryResult<Page<Name, Row>>; hasMore: boolean; more: () => void };

/** A list of the service: its first page, and one more each time that is asked for. All of them are kept fresh. */
export function useList<Row, Name extends string = string>(
  name: Name, path: string, key: readonly unknown[] = [name], { on = true, interval = 5000, query: given = {} }: { on?: boolean; interval?: number; query?: Query } = {},
): List<Name, Row> {
  const [pages, setPages] = useState(1);
  const enabled = useMaybeSignedIn() && on;
  const query = useQuery({
    queryKey: [...key, pages], queryFn: ({ signal }) => readPages<Row, Name>(name, path, pages, signal, given), enabled, refetchInterval: every(interval), placeholderData: pages > 1 ? keepPreviousData : undefined,
  });
  return { query, hasMore: !!query.data?.nextCursor, more: () => setPages(pages + 1) };
}

export async function readPages<Row, Name extends string>(name: Name, path: string, pages: number, signal?: AbortSignal, query: Query = {}): Promise<Page<Name, Row>> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  for (let number = 0; number < pages; number += 1) {
    const page: Page<Name, Row> = await get(path, { ...query, cursor }, signal);
    rows.push(...page[name]);
    cursor = page.nextCursor;
    if (!cursor) break;
  }
  return { [name]: rows, nextCursor: cursor } as Page<Name, Row>;
}
