"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useState } from "react";
import { jobsHref } from "@/lib/address";
import { faults, part, post } from "@/lib/api";
import type { Schedule } from "@/lib/documents";
import { plural } from "@/lib/format";
import { useSettled } from "@/lib/settled";
import { exact, instant, local, now, ownZone } from "@/lib/time";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { useToast } from "@/ui/toast";
import { missedTicks, type Missed } from "./missed";

const DAY = 86_400_000;
const at = (ms: number) => local(new Date(ms).toISOString());

/** Fires the ticks of a time that has passed that nobody decided; how many is told before anything is done. */
export function BackfillDialog({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const client = useQueryClient();
  const say = useToast();
  const [range, setRange] = useState(() => ({ start: at(now() - DAY), end: at(now()) }));
  const settled = useSettled(range, 300);
  const [start, end] = [instant(settled.start), instant(settled.end)];
  const backwards = Date.parse(end) < Date.parse(start);
  const given = !Number.isNaN(Date.parse(start)) && !Number.isNaN(Date.parse(end));
  const preview = useQuery({
    queryKey: ["missed", schedule.name, start, end],
    queryFn: ({ signal }) => missedTicks(schedule, start, end, signal),
    enabled: given && !backwards, refetchInterval: false, retry: false, gcTime: 0,
  });
  const fire = useMutation({
    mutationFn: () => post<{ jobs: { id: number }[] }>(`/api/schedules/${part(schedule.name)}/backfill`, { start, end }),
    onSuccess: ({ jobs }) => {
      void client.invalidateQueries({ queryKey: ["schedule", schedule.name] });
      say(<>{plural(jobs.length, "job")} <Link className="link" href={jobsHref({ schedule: schedule.name })}>of {schedule.name}</Link> {jobs.length === 1 ? "is" : "are"} accepted.</>);
      onClose();
    },
  });
  const wrong = { ...faults(preview.error), ...faults(fire.error), ...(backwards ? { end: "This is before the start." } : {}) } as Record<string, string>;
  const missed = preview.data;
  const ready = !!missed && missed.ticks.length > 0 && settled === range && !preview.isFetching;
  return (
    <Dialog title={`Backfill ${schedule.name}`} onClose={onClose}>
      <form noValidate onSubmit={(event) => { event.preventDefault(); if (ready) fire.mutate(); }}>
        <p className="mb-4 text-13 text-muted">Makes the jobs of ticks that have passed and were never decided: while it was paused, or before it was made.</p>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field name="After" wrong={wrong.start ?? wrong.now} hint={`In your time zone, ${ownZone()}.`}><input className="input" type="datetime-local" step={1} required value={range.start} onChange={(event) => setRange({ ...range, start: event.target.value })} /></Field>
          <Field name="Up to" wrong={wrong.end}><input className="input" type="datetime-local" step={1} required value={range.end} onChange={(event) => setRange({ ...range, end: event.target.value })} /></Field>
        </div>
        <div aria-live="polite" className="mt-6 min-h-20" data-testid="missed">
          {preview.error ? <p className="tone tone-red text-13 break-words">{preview.error.message}</p>
            : !given || backwards ? null : missed && !preview.isFetching && settled === range ? <Preview missed={missed} tz={schedule.tz} /> : <p className="text-20 font-semibold">Counting…</p>}
        </div>
        <DialogActions error={Object.keys(faults(fire.error)).length ? null : fire.error}>
          <button type="button" className="button" onClick={onClose}>Close</button>
          <button type="submit" className="button button-primary" disabled={!ready || fire.isPending}>{missed && missed.ticks.length > 0 ? `Make ${many(missed, "job")}` : "Backfill"}</button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function Preview({ missed, tz }: { missed: Missed; tz: string }) {
  const { ticks, decided } = missed;
  const known = decided > 0 ? ` ${plural(decided, "tick")} in this time ${decided === 1 ? "is" : "are"} decided already.` : "";
  if (ticks.length === 0) return <><p className="text-20 font-semibold">Nothing to make up for.</p><p className="text-13 text-muted">No tick in this time was missed.{known}</p></>;
  return (
    <>
      <p className="text-20 font-semibold">{many(missed, "tick")}</p>
      <p className="text-13 text-muted">{ticks.length === 1 ? exact(ticks[0]!, tz) : `From ${exact(ticks[0]!, tz)} to ${missed.more ? "the end of this time" : exact(ticks.at(-1)!, tz)}.`}{known}</p>
    </>
  );
}

const many = ({ ticks, more }: Missed, what: string) => (more ? `more than ${plural(ticks.length, what)}` : plural(ticks.length, what));
