"use client";

import Link from "next/link";
import { useRouter } from "next/navigation";
import { scheduleHref, useAddress } from "@/lib/address";
import type { Schedule } from "@/lib/documents";
import { useRows } from "@/lib/keyboard";
import { useList } from "@/lib/list";
import { useMay } from "@/lib/session";
import { Answer, Empty } from "@/ui/answer";
import { Icon } from "@/ui/icon";
import { More } from "@/ui/more";
import { PageTitle, Panel } from "@/ui/panel";
import { Time } from "@/ui/time";
import { ScheduleDialog } from "./form";

export function SchedulesPage() {
  const { params, change } = useAddress();
  const router = useRouter();
  const may = useMay("operate");
  const list = useList<Schedule, "schedules">("schedules", "/api/schedules");
  const { query } = list;
  const current = useRows(query.data?.schedules.length ?? 0, (index) => router.push(scheduleHref(query.data!.schedules[index]!.name)));
  const add = () => change({ new: "yes" });
  return (
    <>
      <PageTitle title="Schedules">{may && <button type="button" className="button" onClick={add}><Icon name="plus" size={14} />New schedule</button>}</PageTitle>
      <Panel flush>
        <Answer query={query}>
          {({ schedules }) => schedules.length === 0 ? (
            <Empty title="No schedules yet.">
              <p>Write when in plain words: “every weekday at 9am in London”.</p>
              {may && <button type="button" className="button button-primary mt-4" onClick={add}>Make the first one</button>}
            </Empty>
          ) : (
            <table className="table table-stack">
              <thead><tr><th scope="col">Schedule</th><th scope="col">When</th><th scope="col">Action</th><th scope="col" className="number">Next</th></tr></thead>
              <tbody>
                {schedules.map((schedule, index) => (
                  <tr key={schedule.name} data-row data-current={index === current}>
                    <td className="whole font-medium"><Link prefetch={false} className="link break-all" href={scheduleHref(schedule.name)}>{schedule.name}</Link></td>
                    <td className="whole">{schedule.sentence}</td>
                    <td className="text-muted">{schedule.action}</td>
                    <td className="number">{schedule.paused ? <span className="tone tone-amber">paused</span> : <Time at={schedule.nextTicks[0]} empty="never again" />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Answer>
        <More list={list} />
      </Panel>
      {params.has("new") && may && <ScheduleDialog onClose={() => change({ new: null })} />}
    </>
  );
}
