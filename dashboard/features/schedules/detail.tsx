"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { jobHref, jobsHref, machineHref, useAddress } from "@/lib/address";
import { get, part, post, remove } from "@/lib/api";
import type { Job, Schedule, Tick } from "@/lib/documents";
import { useList } from "@/lib/list";
import { useMay, useMaybeSignedIn } from "@/lib/session";
import { exact, ownZone, span } from "@/lib/time";
import { Answer, Empty } from "@/ui/answer";
import { JsonText } from "@/ui/code";
import { Dialog, DialogActions } from "@/ui/dialog";
import { More } from "@/ui/more";
import { Facts, PageTitle, Panel } from "@/ui/panel";
import { Time } from "@/ui/time";
import { useToast } from "@/ui/toast";
import { BackfillDialog } from "./backfill";
import { ScheduleDialog } from "./form";

export function SchedulePage() {
  const name = useAddress().params.get("name") ?? "";
  const enabled = useMaybeSignedIn() && name !== "";
  const path = `/api/schedules/${part(name)}`;
  const query = useQuery({ queryKey: ["schedule", name], queryFn: () => get<{ schedule: Schedule }>(path), enabled });
  const ticks = useList<Tick, "ticks">("ticks", `${path}/ticks`, ["schedule", name, "ticks"], { on: name !== "" });
  if (!name) return <Empty title="Which schedule?"><Link href="/schedules/" className="link">All schedules</Link></Empty>;
  return (
    <Answer query={query}>
      {({ schedule }) => (
        <>
          <PageTitle title={schedule.name} above={<><Link prefetch={false} href="/schedules/" className="link">Schedules</Link></>}><Actions schedule={schedule} /></PageTitle>
          <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_400px]">
            <div className="flex min-w-0 flex-col gap-6">
              <Panel><p className="text-16 font-medium">{schedule.sentence}</p><code className="mt-1 block break-words text-muted">{schedule.when}</code>
                {schedule.paused && <p className="tone tone-amber mt-3 text-13">Paused <Time at={schedule.pausedAt} />{schedule.pauseReason ? `: ${schedule.pauseReason}` : ""}. It does not fire until it is resumed.</p>}
              </Panel>
              <Panel title="Next ticks" flush><Upcoming schedule={schedule} /></Panel>
              <Panel title="Past ticks" flush aside={<Link prefetch={false} className="link" href={jobsHref({ schedule: schedule.name })}>Its jobs</Link>}>
                <Answer query={ticks.query}>{(data) => <Past ticks={data.ticks} />}</Answer>
                <More list={ticks} />
              </Panel>
            </div>
            <div className="flex min-w-0 flex-col gap-6">
              <Panel title="Schedule">
                <Facts rows={[
                  ["Action", <Link key="action" prefetch={false} className="link" href={machineHref(schedule.action)}>{schedule.action}</Link>],
                  ["Time zone", schedule.tz],
                  ["Queue", schedule.queue ?? "the machine's"],
                  ["Overlap", schedule.overlap],
                  ["Catch-up", schedule.catchUp + (schedule.catchUpWithin ? ` within ${span(schedule.catchUpWithin * 1000)}` : "")],
                  ["Jitter", schedule.jitter ? span(schedule.jitter * 1000) : "none"],
                  ...(schedule.start ? [["Starts", <Time key="start" at={schedule.start} />] as const] : []),
                  ...(schedule.end ? [["Ends", <Time key="end" at={schedule.end} />] as const] : []),
                  ...(schedule.ticksLeft != null ? [["Ticks left", schedule.ticksLeft] as const] : []),
                  ...(schedule.declaredBy ? [["Declared by", schedule.declaredBy] as const] : []),
                ]} />
              </Panel>
              <Panel title="Input"><JsonText value={schedule.input} label="Input" /></Panel>
            </div>
          </div>
        </>
      )}
    </Answer>
  );
}

function Actions({ schedule }: { schedule: Schedule }) {
  const client = useQueryClient();
  const router = useRouter();
  const say = useToast();
  const may = useMay("operate");
  const [sheet, setSheet] = useState<"change" | "backfill" | "delete" | null>(null);
  const path = `/api/schedules/${part(schedule.name)}`;
  const act = useMutation({
    mutationFn: (verb: string) => verb === "delete" ? remove<{ job?: Job }>(path) : post<{ job?: Job }>(`${path}/${verb}`, {}),
    onSuccess: (answer, verb) => {
      void client.invalidateQueries({ queryKey: ["schedules"] });
      if (verb === "delete") {
        say(`The schedule ${schedule.name} is gone; its jobs stay.`);
        return router.push("/schedules/");
      }
      void client.invalidateQueries({ queryKey: ["schedule", schedule.name] });
      say(answer?.job ? <>Job <Link className="link" href={jobHref(answer.job.id)}>{answer.job.id}</Link> is accepted.</> : `${schedule.name}: ${verb} is done.`);
    },
    onError: (error) => say(error.message, true),
  });
  if (!may) return null;
  return (
    <>
      <button type="button" className="button" disabled={act.isPending} onClick={() => act.mutate("trigger")}>Trigger now</button>
      <button type="button" className="button" disabled={act.isPending} onClick={() => act.mutate(schedule.paused ? "resume" : "pause")}>{schedule.paused ? "Resume" : "Pause"}</button>
      <button type="button" className="button" onClick={() => setSheet("backfill")}>Backfill</button>
      <button type="button" className="button" onClick={() => setSheet("change")}>Change</button>
      <button type="button" className="button button-danger" onClick={() => setSheet("delete")}>Delete</button>
      {sheet === "backfill" && <BackfillDialog schedule={schedule} onClose={() => setSheet(null)} />}
      {sheet === "change" && <ScheduleDialog schedule={schedule} onClose={() => setSheet(null)} />}
      {sheet === "delete" && (
        <Dialog title={`Delete ${schedule.name}`} onClose={() => setSheet(null)}>
          <p className="text-13 text-muted">It never fires again. The jobs it made stay as they are.</p>
          <DialogActions><button type="button" className="button" onClick={() => setSheet(null)}>Keep it</button><button type="button" className="button button-danger" onClick={() => act.mutate("delete")}>Delete the schedule</button></DialogActions>
        </Dialog>
      )}
    </>
  );
}

function Upcoming({ schedule }: { schedule: Schedule }) {
  if (schedule.nextTicks.length === 0) return <Empty title="It never fires again." />;
  const own = ownZone();
  return (
    <div className="overflow-x-auto">
      <table className="table">
        <thead><tr><th scope="col">In</th><th scope="col">{schedule.tz}</th>{own !== schedule.tz && <th scope="col">{own} (yours)</th>}</tr></thead>
        <tbody>{schedule.nextTicks.map((tick) => <tr key={tick}><td><Time at={tick} /></td><td className="whitespace-nowrap">{exact(tick, schedule.tz)}</td>{own !== schedule.tz && <td className="whitespace-nowrap text-muted">{exact(tick)}</td>}</tr>)}</tbody>
      </table>
    </div>
  );
}

function Past({ ticks }: { ticks: readonly Tick[] }) {
  if (ticks.length === 0) return <Empty title="It has not fired yet." />;
  return (
    <table className="table">
      <thead><tr><th scope="col">Tick</th><th scope="col">What came of it</th></tr></thead>
      <tbody>{ticks.map((tick) => <tr key={tick.tickAt + String(tick.job)}><td><Time at={tick.tickAt} /></td><td>{tick.job ? <>job <Link prefetch={false} className="link" href={jobHref(tick.job)}>{tick.job}</Link></> : <span className="text-muted">{tick.skipped ?? "nothing"}</span>}</td></tr>)}</tbody>
    </table>
  );
}
