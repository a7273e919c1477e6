"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { EndedJobs } from "@/features/charts/ended-jobs";
import { Plots } from "@/features/charts/plots";
import { go, jobHref, jobsHref, machineHref, useAddress } from "@/lib/address";
import { get, post, remove } from "@/lib/api";
import type { Job, Schedule } from "@/lib/documents";
import { useList } from "@/lib/paged-list";
import { keys } from "@/lib/query-keys";
import { useMay, useMaybeSignedIn } from "@/lib/session";
import { span } from "@/lib/time";
import { Answer, Which } from "@/ui/answer";
import { JsonText } from "@/ui/code";
import { Confirm } from "@/ui/dialog";
import { later } from "@/ui/later";
import { Link } from "@/ui/link";
import { More } from "@/ui/more";
import { Facts, PageTitle, Panel, Up } from "@/ui/panel";
import { Time } from "@/ui/time";
import { useToast } from "@/ui/toast";
import { Past, Upcoming, zoneOf } from "./ticks";

const BackfillDialog = later(() => import("./backfill").then((it) => it.BackfillDialog));
const ScheduleDialog = later(() => import("./form").then((it) => it.ScheduleDialog));

export function SchedulePage() {
  const name = useAddress().params.get("name") ?? "";
  const enabled = useMaybeSignedIn() && name !== "";
  const query = useQuery({
    queryKey: keys.schedule(name),
    queryFn: () => get("/api/schedules/{name}", { path: { name } }),
    enabled,
  });
  const where = { path: { name } };
  const ticks = useList("ticks", "/api/schedules/{name}/ticks", where, keys.ticks(name), name !== "");
  if (!name) return <Which noun="schedule" />;
  return (
    <Answer query={query}>
      {({ schedule }) => (
        <>
          <PageTitle title={schedule.name} above={<Up to="/schedules/">Schedules</Up>}>
            <Actions schedule={schedule} />
          </PageTitle>
          <div className="mb-4 flex flex-col gap-4">
            <Panel>
              <p className="text-16 font-medium">{schedule.sentence}</p>
              <code className="mt-1 block break-words text-muted">{schedule.when}</code>
              {schedule.paused && (
                <p className="tone tone-amber mt-3 text-13">
                  Paused <Time at={schedule.pausedAt} />
                  {schedule.pauseReason ? `: ${schedule.pauseReason}` : ""}. It does not fire until it is
                  resumed.
                </p>
              )}
            </Panel>
            <Plots scope={{ schedule: schedule.name }} />
          </div>
          <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_400px]">
            <div className="flex min-w-0 flex-col gap-6">
              <Panel title="Next ticks" flush>
                <Upcoming schedule={schedule} />
              </Panel>
              <Panel
                title="Past ticks"
                flush
                aside={
                  <Link className="link" href={jobsHref({ schedule: schedule.name })}>
                    Its jobs
                  </Link>
                }
              >
                <Answer query={ticks.query}>{(data) => <Past ticks={data.ticks} />}</Answer>
                <More list={ticks} />
              </Panel>
            </div>
            <div className="flex min-w-0 flex-col gap-6">
              <Panel title="Schedule">
                <Facts
                  rows={[
                    [
                      "Action",
                      <Link key="action" className="link" href={machineHref(schedule.action)}>
                        {schedule.action}
                      </Link>,
                    ],
                    ["Last jobs", <EndedJobs key="strip" scope={{ schedule: schedule.name }} />],
                    ["Time zone", zoneOf(schedule)],
                    ["Queue", schedule.queue ?? "the machine's"],
                    ["Overlap", schedule.overlap],
                    [
                      "Catch-up",
                      schedule.catchUp +
                        (schedule.catchUpWithin ? ` within ${span(schedule.catchUpWithin * 1000)}` : ""),
                    ],
                    ["Jitter", schedule.jitter ? span(schedule.jitter * 1000) : "none"],
                    ...(schedule.start
                      ? [["Starts", <Time key="start" at={schedule.start} />] as const]
                      : []),
                    ...(schedule.end ? [["Ends", <Time key="end" at={schedule.end} />] as const] : []),
                    ...(schedule.ticksLeft != null ? [["Ticks left", schedule.ticksLeft] as const] : []),
                    ...(schedule.declaredBy ? [["Declared by", schedule.declaredBy] as const] : []),
                  ]}
                />
              </Panel>
              <Panel title="Input">
                <JsonText value={schedule.input} label="Input" />
              </Panel>
            </div>
          </div>
        </>
      )}
    </Answer>
  );
}

function Actions({ schedule }: { schedule: Schedule }) {
  const client = useQueryClient();
  const say = useToast();
  const may = useMay("operate");
  const { params, change } = useAddress();
  const [sheet, setSheet] = useState<"change" | "delete" | null>(null);
  const act = useMutation({
    mutationFn: async (verb: "trigger" | "pause" | "resume" | "delete"): Promise<{ job?: Job }> => {
      const path = { name: schedule.name };
      if (verb === "trigger") return post("/api/schedules/{name}/trigger", { path });
      if (verb === "pause") await post("/api/schedules/{name}/pause", { path });
      else if (verb === "resume") await post("/api/schedules/{name}/resume", { path });
      else await remove("/api/schedules/{name}", { path });
      return {};
    },
    onSuccess: (answer, verb) => {
      void client.invalidateQueries({ queryKey: keys.schedules });
      if (verb === "delete") {
        say(`Deleted ${schedule.name}. Its jobs stay.`);
        return go("/schedules/");
      }
      void client.invalidateQueries({ queryKey: keys.schedule(schedule.name) });
      say(
        answer?.job ? (
          <>
            Job{" "}
            <Link className="link" href={jobHref(answer.job.id)}>
              {answer.job.id}
            </Link>{" "}
            is accepted.
          </>
        ) : (
          `${verb === "pause" ? "Paused" : "Resumed"} ${schedule.name}.`
        ),
      );
    },
    onError: (error) => say(error.message, true),
  });
  if (!may) return null;
  return (
    <>
      <button type="button" className="button" disabled={act.isPending} onClick={() => act.mutate("trigger")}>
        Trigger now
      </button>
      <button
        type="button"
        className="button"
        disabled={act.isPending}
        onClick={() => act.mutate(schedule.paused ? "resume" : "pause")}
      >
        {schedule.paused ? "Resume" : "Pause"}
      </button>
      <button type="button" className="button" onClick={() => change({ backfill: "yes" })}>
        Backfill…
      </button>
      <button type="button" className="button" onClick={() => setSheet("change")}>
        Change
      </button>
      <button type="button" className="button button-danger" onClick={() => setSheet("delete")}>
        Delete
      </button>
      {params.get("backfill") && (
        <BackfillDialog schedule={schedule} onClose={() => change({ backfill: null })} />
      )}
      {sheet === "change" && <ScheduleDialog schedule={schedule} onClose={() => setSheet(null)} />}
      {sheet === "delete" && (
        <Confirm
          title={`Delete ${schedule.name}`}
          label="Delete the schedule"
          onConfirm={() => act.mutate("delete")}
          onClose={() => setSheet(null)}
          pending={act.isPending}
        >
          It never fires again. The jobs it made stay as they are.
        </Confirm>
      )}
    </>
  );
}
