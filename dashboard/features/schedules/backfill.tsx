"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { jobsHref } from "@/lib/address";
import { faults, post } from "@/lib/api";
import { useDebounced } from "@/lib/debounced";
import type { Schedule } from "@/lib/documents";
import { plural } from "@/lib/format";
import { keys } from "@/lib/query-keys";
import { exact, instant, local, now, ownZone } from "@/lib/time";
import { Dialog, FormActions } from "@/ui/dialog";
import { Field, TimeInput } from "@/ui/field";
import { Link } from "@/ui/link";
import { useToast } from "@/ui/toast";
import { type Missed, missedTicks } from "./missed";

const DAY = 86_400_000;
const at = (ms: number) => local(new Date(ms).toISOString());

/** Creates jobs for the missed ticks of a past time; says how many before it does. */
export function BackfillDialog({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  const client = useQueryClient();
  const say = useToast();
  const [range, setRange] = useState(() => ({ start: at(now() - DAY), end: at(now()) }));
  const settled = useDebounced(range, 300);
  const [start, end] = [instant(settled.start), instant(settled.end)];
  const backwards = Date.parse(end) < Date.parse(start);
  const given = !Number.isNaN(Date.parse(start)) && !Number.isNaN(Date.parse(end));
  const preview = useQuery({
    queryKey: keys.missed(schedule.name, start, end),
    queryFn: ({ signal }) => missedTicks(schedule, start, end, signal),
    enabled: given && !backwards,
    refetchInterval: false,
    retry: false,
    gcTime: 0,
  });
  const fire = useMutation({
    mutationFn: () =>
      post("/api/schedules/{name}/backfill", { path: { name: schedule.name }, body: { start, end } }),
    onSuccess: ({ jobs }) => {
      void client.invalidateQueries({ queryKey: keys.schedule(schedule.name) });
      say(
        <>
          {plural(jobs.length, "job")}{" "}
          <Link className="link" href={jobsHref({ schedule: schedule.name })}>
            of {schedule.name}
          </Link>{" "}
          {jobs.length === 1 ? "is" : "are"} accepted.
        </>,
      );
      onClose();
    },
  });
  const wrong = {
    ...faults(preview.error),
    ...faults(fire.error),
    ...(backwards ? { end: "This is before the start." } : {}),
  } as Record<string, string>;
  const missed = preview.data;
  const ready = !!missed && missed.ticks.length > 0 && settled === range && !preview.isFetching;
  return (
    <Dialog title={`Backfill ${schedule.name}`} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) fire.mutate();
        }}
      >
        <p className="mb-4 text-13 text-muted">
          Creates jobs for past ticks that never ran: while the schedule was paused, or before it existed.
        </p>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field name="After" wrong={wrong.start ?? wrong.now} hint={`In your time zone, ${ownZone()}.`}>
            <TimeInput
              required
              value={range.start}
              onChange={(event) => setRange({ ...range, start: event.target.value })}
            />
          </Field>
          <Field name="Up to" wrong={wrong.end}>
            <TimeInput
              required
              value={range.end}
              onChange={(event) => setRange({ ...range, end: event.target.value })}
            />
          </Field>
        </div>
        <div aria-live="polite" className="mt-6 min-h-20" data-testid="missed">
          {preview.error ? (
            <p className="tone tone-red text-13 break-words">{preview.error.message}</p>
          ) : !given || backwards ? null : missed && !preview.isFetching && settled === range ? (
            <Preview missed={missed} tz={schedule.tz} />
          ) : (
            <p className="text-20 font-semibold">Counting…</p>
          )}
        </div>
        <FormActions
          error={Object.keys(faults(fire.error)).length ? null : fire.error}
          onClose={onClose}
          disabled={!ready || fire.isPending}
        >
          {missed && missed.ticks.length > 0 ? `Create ${many(missed, "job")}` : "Backfill"}
        </FormActions>
      </form>
    </Dialog>
  );
}

function Preview({ missed, tz }: { missed: Missed; tz: string }) {
  const { ticks, decided } = missed;
  const known =
    decided > 0
      ? ` ${plural(decided, "tick")} in this time ${decided === 1 ? "has" : "have"} run or been skipped already.`
      : "";
  if (ticks.length === 0)
    return (
      <>
        <p className="text-20 font-semibold">No missed ticks.</p>
        <p className="text-13 text-muted">Every tick in this time ran or was skipped.{known}</p>
      </>
    );
  return (
    <>
      <p className="text-20 font-semibold">{many(missed, "tick")}</p>
      <p className="text-13 text-muted">
        {ticks.length === 1
          ? exact(ticks[0]!, tz)
          : `From ${exact(ticks[0]!, tz)} to ${missed.more ? "the end of this time" : exact(ticks.at(-1)!, tz)}.`}
        {known}
      </p>
    </>
  );
}

const many = ({ ticks, more }: Missed, what: string) =>
  more ? `more than ${plural(ticks.length, what)}` : plural(ticks.length, what);
