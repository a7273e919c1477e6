"use client";

import type { List } from "@/lib/list";

/** Asks for the next page of a list, where there is one. */
export function More<Name extends string, Row>({ list }: { list: List<Name, Row> }) {
  if (!list.hasMore) return null;
  return (
    <div className="border-t p-2 text-center">
      <button type="button" className="button button-small" disabled={list.query.isFetching && list.query.isPlaceholderData} onClick={list.more}>Show more</button>
    </div>
  );
}
