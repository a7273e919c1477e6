"use client";

import { go, scheduleHref, useAddress } from "@/lib/address";
import { useRows } from "@/lib/keyboard";
import { useList } from "@/lib/paged-list";
import { useMay } from "@/lib/session";
import { visibleLine } from "@/lib/visible-text";
import { Empty } from "@/ui/answer";
import { Icon } from "@/ui/icon";
import { later } from "@/ui/later";
import { Link } from "@/ui/link";
import { PageTitle, Panel } from "@/ui/panel";
import { ListTable, number } from "@/ui/table";
import { Time } from "@/ui/time";

const ScheduleDialog = later(() => import("./form").then((it) => it.ScheduleDialog));

export function SchedulesPage() {
  const { params, change } = useAddress();
  const may = useMay("operate");
  const list = useList("schedules", "/api/schedules", {});
  const { query } = list;
  const { current } = useRows(query.data?.schedules.map((schedule) => schedule.name) ?? [], (name) =>
    go(scheduleHref(name)),
  );
  const add = () => change({ new: "yes" });
  return (
    <>
      <PageTitle title="Schedules">
        {may && (
          <button type="button" className="button" onClick={add}>
            <Icon name="plus" size={14} />
            New schedule
          </button>
        )}
      </PageTitle>
      <Panel flush>
        <ListTable
          list={list}
          name="schedules"
          empty={
            <Empty title="No schedules yet.">
              <p>Say when in plain English: “every weekday at 9am in London”.</p>
              {may && (
                <button type="button" className="button button-primary mt-4" onClick={add}>
                  Create the first schedule
                </button>
              )}
            </Empty>
          }
          columns={["Schedule", "When", "Action", number("Next")]}
        >
          {(schedule) => (
            <tr key={schedule.name} data-row data-current={schedule.name === current}>
              <td className="whole font-medium sm:min-w-48">
                <Link className="link break-all" href={scheduleHref(schedule.name)}>
                  {visibleLine(schedule.name)}
                </Link>
              </td>
              <td className="whole">{schedule.sentence}</td>
              <td className="text-muted">{schedule.action}</td>
              <td className="number">
                {schedule.paused ? (
                  <span className="tone tone-amber">paused</span>
                ) : (
                  <Time at={schedule.nextTicks[0]} empty="never again" />
                )}
              </td>
            </tr>
          )}
        </ListTable>
      </Panel>
      {params.has("new") && may && <ScheduleDialog onClose={() => change({ new: null })} />}
    </>
  );
}
