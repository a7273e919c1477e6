"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { post } from "@/lib/api";
import type { BulkPortion as Portion } from "@/lib/documents";
import { count, pathOf, plural, sayVerb } from "@/lib/format";
import { CAN } from "@/lib/lifecycle.gen";
import { Failure } from "@/ui/answer";
import { Dialog, DialogActions } from "@/ui/dialog";
import { asQuery, say, type Filter } from "./filter";

type Progress = { total: number; done: number; refused: number; over: boolean };

const VERBS = [...new Set(Object.values(CAN).flat())].filter((verb) => verb !== "signal").concat("delete");

/** One verb on every job of the filter: first the count, then the doing, portion by portion. */
export function BulkDialog({ filter, onClose }: { filter: Filter; onClose: () => void }) {
  const client = useQueryClient();
  const [verb, setVerb] = useState(VERBS[0]!);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [counted, setCounted] = useState(0);
  const stopped = useRef(false);
  const path = `/api/jobs/bulk/${pathOf(verb)}`;
  const dry = useQuery({
    queryKey: ["bulk", verb, asQuery(filter)],
    queryFn: async ({ signal }) => {
      let sum = 0;
      for await (const portion of portions(path, filter, true, signal)) setCounted((sum += portion.matched));
      return sum;
    },
    refetchInterval: false,
    gcTime: 0,
    enabled: progress === null,
  });
  const matched = dry.data ?? 0;

  const run = async () => {
    const sum: Progress = { total: matched, done: 0, refused: 0, over: false };
    setProgress({ ...sum });
    setError(null);
    try {
      for await (const portion of portions(path, filter, false)) {
        sum.done += portion.done;
        sum.refused += portion.refused;
        setProgress({ ...sum });
        if (stopped.current) break;
      }
    } catch (failure) {
      setError(failure as Error);
    }
    setProgress({ ...sum, over: true });
    void client.invalidateQueries({ queryKey: ["jobs"] });
    void client.invalidateQueries({ queryKey: ["stats"] });
  };

  return (
    <Dialog title="Act on all that match" onClose={() => { stopped.current = true; onClose(); }}>
      <p className="mb-4 text-13 text-muted">Filter: <span className="text-ink break-words">{say(filter)}</span></p>
      <fieldset disabled={progress !== null} className="mb-6 flex flex-wrap gap-2">
        <legend className="mb-2 text-13 font-medium">What to do</legend>
        {VERBS.map((each) => (
          <button key={each} type="button" aria-pressed={each === verb} className={`button ${each === verb ? "button-primary" : ""}`} onClick={() => { setVerb(each); setCounted(0); }}>{sayVerb(each)}</button>
        ))}
      </fieldset>
      {dry.error && <Failure error={dry.error} again={() => void dry.refetch()} />}
      {progress === null ? (
        <p aria-live="polite" className="min-h-8 text-20 font-semibold" data-testid="matched">
          {dry.isFetching ? (counted ? `Counting… ${count(counted)}` : "Counting…") : dry.isSuccess ? plural(matched, "job") : ""}
          {dry.isSuccess && !dry.isFetching && <span className="text-13 font-normal text-muted"> of this filter can be asked to {sayVerb(verb).toLowerCase()}.</span>}
        </p>
      ) : <ProgressBar progress={progress} verb={verb} />}
      <DialogActions error={error}>
        {progress?.over ? <button type="button" className="button button-primary" onClick={onClose}>Close</button> : progress ? (
          <button type="button" className="button" onClick={() => { stopped.current = true; }}>Stop here</button>
        ) : (
          <>
            <button type="button" className="button" onClick={onClose}>Keep everything as it is</button>
            <button type="button" className={`button ${verb === "delete" || verb === "cancel" ? "button-danger" : "button-primary"}`} disabled={!matched || dry.isFetching} onClick={() => void run()}>
              {sayVerb(verb)} {plural(matched, "job")}
            </button>
          </>
        )}
      </DialogActions>
    </Dialog>
  );
}

/** The answers to one verb, portion after portion, until the filter is through. */
async function* portions(path: string, filter: Filter, dryRun: boolean, signal?: AbortSignal): AsyncGenerator<Portion> {
  let cursor: string | null = null;
  do {
    const portion: Portion = await post(path, { filter: asQuery(filter), dryRun, ...(cursor ? { cursor } : {}) }, signal);
    yield portion;
    cursor = portion.nextCursor;
  } while (cursor);
}

function ProgressBar({ progress, verb }: { progress: Progress; verb: string }) {
  const through = progress.done + progress.refused;
  return (
    <div aria-live="polite">
      <progress className="w-full" aria-label="Progress" value={progress.over ? 1 : through} max={progress.over ? 1 : Math.max(progress.total, through, 1)} />
      <p className="mt-2 text-13" data-testid="progress">
        {sayVerb(verb)}: {count(progress.done)} of {count(Math.max(progress.total, through))} done
        {progress.refused > 0 && `, ${count(progress.refused)} refused because they had moved on`}
        {progress.over ? "." : "…"}
      </p>
    </div>
  );
}
