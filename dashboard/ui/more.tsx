"use client";

import type { List } from "@/lib/paged-list";
import { Icon } from "./icon";

/** Asks for the next page of a list, where there is one. */
export function More<Name extends string, Row>({ list }: { list: List<Name, Row> }) {
  if (!list.hasMore) return null;
  return (
    <div className="border-t p-2 text-center">
      <button
        type="button"
        className="button button-small"
        disabled={list.query.isFetching && list.query.isPlaceholderData}
        onClick={list.more}
      >
        Show more
      </button>
    </div>
  );
}

/** Leads through a list whose page stands in the address: to older rows, and back to the newest. */
export function PageButtons({
  cursor,
  older,
  onTurn,
}: {
  cursor: string | null;
  older: string | null | undefined;
  onTurn: (cursor: string | null) => void;
}) {
  return (
    <>
      {cursor && (
        <button type="button" className="button" onClick={() => onTurn(null)}>
          <Icon name="left" size={14} />
          Newest
        </button>
      )}
      <button type="button" className="button" disabled={!older} onClick={() => onTurn(older ?? null)}>
        Older
        <Icon name="right" size={14} />
      </button>
    </>
  );
}
