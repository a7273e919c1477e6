"use client";

import { useAddress } from "@/lib/address";
import type { Alarm } from "@/lib/documents";
import { useList } from "@/lib/list";
import { Answer } from "@/ui/answer";
import { More } from "@/ui/more";
import { PageTitle, Panel } from "@/ui/panel";
import { AlarmList } from "./list";

export function AlarmsPage() {
  const { params, change } = useAddress();
  const all = params.get("all") === "true";
  const list = useList<Alarm, "alarms">("alarms", "/api/alarms", ["alarms", all ? "all" : "now"], { query: all ? { all: true } : {} });
  return (
    <>
      <PageTitle title="Alarms">
        <label className="flex items-center gap-2 text-13"><input type="checkbox" checked={all} onChange={(event) => change({ all: event.target.checked ? "true" : null })} />Also what has cleared</label>
      </PageTitle>
      <Panel flush>
        <Answer query={list.query}>
          {({ alarms }) => alarms.length > 0 ? <AlarmList alarms={alarms} /> : <p className="p-4 text-20 font-semibold" data-testid="quiet">Quiet.</p>}
        </Answer>
        <More list={list} />
      </Panel>
    </>
  );
}
