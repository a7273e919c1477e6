"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { post } from "@/lib/api";
import type { BulkPortion as Portion } from "@/lib/documents";
import { count, inOrder, isGrave, pathOf, plural, sayVerb } from "@/lib/format";
import { CAN, STATES, TERMINAL } from "@/lib/lifecycle.gen";
import { Failure } from "@/ui/answer";
import { Dialog, DialogActions } from "@/ui/dialog";
import { asQuery, say, type Filter } from "./filter";
import { ProgressBar, type Progress } from "./progress";

/** What the states that the filter lets through allow. */
const verbsOf = ({ state }: Filter) => {
  const states = state.length ? state : STATES;
  const able = [...new Set(states.flatMap((each) => CAN[each]))].filter((verb) => verb !== "signal");
  return inOrder(states.some((each) => TERMINAL.includes(each)) ? [...able, "delete"] : able);
};

/** One verb on every job of the filter: first the count, then the doing, portion by portion. */
export function BulkDialog({ filter, onClose }: { filter: Filter; onClose: () => void }) {
  const client = useQueryClient();
  const [verbs] = useState(() => verbsOf(filter));
  const [verb, setVerb] = useState(verbs[0]!);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [counted, setCounted] = useState(0);
  const stopped = useRef(false);
  const path = `/api/jobs/bulk/${pathOf(verb)}`;
  const dry = useQuery({
    queryKey: ["bulk", verb, asQuery(filter)],
    queryFn: async ({ signal }) => {
      const sum = { able: 0, others: 0 };
      for await (const portion of portions(path, filter, true, signal)) {
        sum.others += portion.refused;
        setCounted((sum.able += portion.matched - portion.refused));
      }
      return sum;
    },
    refetchInterval: false,
    gcTime: 0,
    enabled: progress === null,
  });
  const { able: matched, others } = dry.data ?? { able: 0, others: 0 };

  const run = async () => {
    const sum: Progress = { total: matched + others, done: 0, refused: 0, over: false };
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
        {verbs.map((each) => (
          <button key={each} type="button" aria-pressed={each === verb} className={`button ${each === verb ? "button-primary" : ""}`} onClick={() => { setVerb(each); setCounted(0); }}>{sayVerb(each)}</button>
        ))}
      </fieldset>
      {dry.error && <Failure error={dry.error} again={() => void dry.refetch()} />}
      {progress === null ? (
        <p aria-live="polite" className="min-h-8 text-20 font-semibold" data-testid="matched">
          {dry.isFetching ? (counted ? `Counting… ${count(counted)}` : "Counting…") : dry.isSuccess ? plural(matched, "job") : ""}
          {dry.isSuccess && !dry.isFetching && <span className="text-13 font-normal text-muted"> of this filter can be asked to {sayVerb(verb).toLowerCase()}{others > 0 ? `; ${count(others)} more are in no state for it` : ""}.</span>}
        </p>
      ) : <ProgressBar progress={progress} verb={verb} />}
      <DialogActions error={error}>
        {progress?.over ? <button type="button" className="button button-primary" onClick={onClose}>Close</button> : progress ? (
          <button type="button" className="button" onClick={() => { stopped.current = true; }}>Stop here</button>
        ) : (
          <>
            <button type="button" className="button" onClick={onClose}>Keep everything as it is</button>
            <button type="button" className={`button ${isGrave(verb) ? "button-danger" : "button-primary"}`} disabled={!matched || dry.isFetching} onClick={() => void run()}>
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
