"use client";

import { useQuery } from "@tanstack/react-query";
import { useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import type { Alarm } from "@/lib/documents";
import { useSession } from "@/lib/session";
import { Answer } from "@/ui/answer";
import { PageTitle, Panel } from "@/ui/panel";
import { AlarmList } from "./list";

export function AlarmsPage() {
  const { params, change } = useAddress();
  const enabled = !!useSession();
  const all = params.get("all") === "true";
  const query = useQuery({ queryKey: ["alarms", all ? "all" : "open"], queryFn: () => get<{ alarms: Alarm[] }>("/api/alarms", all ? { all: true } : {}), enabled });
  return (
    <>
      <PageTitle title="Alarms">
        <label className="flex items-center gap-2 text-13"><input type="checkbox" checked={all} onChange={(event) => change({ all: event.target.checked ? "true" : null })} />Also what has cleared</label>
      </PageTitle>
      <Panel flush>
        <Answer query={query}>
          {({ alarms }) => alarms.length > 0 ? <AlarmList alarms={alarms} /> : <p className="p-4 text-20 font-semibold" data-testid="quiet">Quiet.</p>}
        </Answer>
      </Panel>
    </>
  );
}
