"use client";

import { useAddress } from "@/lib/address";
import { useList } from "@/lib/paged-list";
import { keys } from "@/lib/query-keys";
import { Answer } from "@/ui/answer";
import { More } from "@/ui/more";
import { PageTitle, Panel } from "@/ui/panel";
import { AlarmList } from "./list";

export function AlarmsPage() {
  const { params, change } = useAddress();
  const all = params.get("all") === "true";
  const list = useList(
    "alarms",
    "/api/alarms",
    { query: all ? { all: true } : {} },
    keys.alarmList(all ? "all" : "now"),
  );
  return (
    <>
      <PageTitle title="Alarms">
        <label className="flex items-center gap-2 text-13">
          <input
            type="checkbox"
            checked={all}
            onChange={(event) => change({ all: event.target.checked ? "true" : null })}
          />
          Show cleared alarms
        </label>
      </PageTitle>
      <Panel flush>
        <Answer query={list.query}>
          {({ alarms }) =>
            alarms.length > 0 ? (
              <AlarmList alarms={alarms} />
            ) : (
              <p className="p-4 text-20 font-semibold" data-testid="quiet">
                Quiet.
              </p>
            )
          }
        </Answer>
        <More list={list} />
      </Panel>
    </>
  );
}
