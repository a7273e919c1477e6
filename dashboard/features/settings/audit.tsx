"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import type { Audit as Row } from "@/lib/documents";
import { write } from "@/lib/json";
import { Answer, Empty } from "@/ui/answer";
import { Icon } from "@/ui/icon";
import { Panel } from "@/ui/panel";
import { Time } from "@/ui/time";

/** Every change that was asked for, by whom, and how it was answered. */
export function Audit() {
  const { params, change } = useAddress();
  const cursor = params.get("cursor");
  const query = useQuery({
    queryKey: ["audit", cursor], queryFn: () => get<{ audit: Row[]; nextCursor: string | null }>("/api/audit", { cursor, limit: 50 }), placeholderData: keepPreviousData,
  });
  return (
    <>
      <Panel title="Audit" flush>
        <Answer query={query} rows={10}>
          {({ audit }) => audit.length === 0 ? <Empty title="Nothing has been changed yet." /> : (
            <div className="overflow-x-auto">
              <table className="table table-stack">
                <thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col" className="number">Answer</th><th scope="col">Request</th></tr></thead>
                <tbody>{audit.map((row) => (
                  <tr key={String(row.id)}>
                    <td className="text-muted"><Time at={row.at} /></td>
                    <td className="font-medium break-all">{row.actor}</td>
                    <td className="whole max-w-96"><code>{row.verb}</code> <span className="break-all">{row.target}</span>{hasMore(row.details) && <code className="block truncate text-12 text-muted" title={write(row.details)}>{write(row.details)}</code>}</td>
                    <td className="number"><span className={(row.status ?? 500) >= 400 ? "tone tone-red" : ""}>{row.status ?? "unknown"}</span></td>
                    <td className="text-12 break-all text-muted"><code className="text-12">{row.requestId}</code></td>
                  </tr>
                ))}</tbody>
              </table>
            </div>
          )}
        </Answer>
      </Panel>
      <nav aria-label="More of the audit" className="mt-4 flex justify-end gap-2">
        {cursor && <button type="button" className="button" onClick={() => change({ cursor: null }, "push")}><Icon name="left" size={14} />Newest</button>}
        <button type="button" className="button" disabled={!query.data?.nextCursor} onClick={() => change({ cursor: query.data!.nextCursor }, "push")}>Older<Icon name="right" size={14} /></button>
      </nav>
    </>
  );
}

const hasMore = (details: unknown) => details !== null && typeof details === "object" && Object.keys(details).length > 0;
