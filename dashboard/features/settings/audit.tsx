"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import { write } from "@/lib/json";
import { useList } from "@/lib/paged-list";
import { keys } from "@/lib/query-keys";
import { visibleLine } from "@/lib/visible-text";
import { Empty } from "@/ui/answer";
import { PageButtons } from "@/ui/more";
import { Panel } from "@/ui/panel";
import { AnswerTable, number } from "@/ui/table";
import { Time } from "@/ui/time";

/** Every change that was asked for, by whom, and how it was answered. */
export function Audit() {
  const { params, change } = useAddress();
  const cursor = params.get("cursor");
  const query = useQuery({
    queryKey: keys.audit(cursor),
    queryFn: () => get("/api/audit", { query: { cursor, limit: 50 } }),
    placeholderData: keepPreviousData,
  });
  const known = useList("keys", "/api/keys", {}).query.data?.keys ?? [];
  const nameOf = (actor: string) => known.find((key) => `key:${key.id}` === actor)?.name ?? actor;
  return (
    <>
      <Panel title="Audit" flush>
        <AnswerTable
          query={query}
          rows={(page) => page.audit}
          loading={10}
          empty={<Empty title="Nothing has been changed yet." />}
          columns={["When", "Who", "What", number("Answer"), "Request"]}
        >
          {(row) => (
            <tr key={String(row.id)}>
              <td className="text-muted">
                <Time at={row.at} />
              </td>
              <td className="font-medium break-words" title={visibleLine(row.actor)}>
                {visibleLine(nameOf(row.actor))}
              </td>
              <td className="whole max-w-96">
                <code>{row.verb}</code> <span className="break-all">{visibleLine(row.target ?? "")}</span>
                {hasMore(row.details) && (
                  <code className="block truncate text-12 text-muted" title={visibleLine(write(row.details))}>
                    {visibleLine(write(row.details))}
                  </code>
                )}
              </td>
              <td className="number">
                <span className={(row.status ?? 500) >= 400 ? "tone tone-red" : ""}>
                  {row.status ?? "unknown"}
                </span>
              </td>
              <td className="text-muted sm:max-w-36">
                <code className="block truncate text-12" title={row.requestId ?? undefined}>
                  {row.requestId}
                </code>
              </td>
            </tr>
          )}
        </AnswerTable>
      </Panel>
      <nav aria-label="More of the audit" className="mt-4 flex justify-end gap-2">
        <PageButtons
          cursor={cursor}
          older={query.data?.nextCursor}
          onTurn={(to) => change({ cursor: to }, "push")}
        />
      </nav>
    </>
  );
}

const hasMore = (details: unknown) =>
  details !== null && typeof details === "object" && Object.keys(details).length > 0;
