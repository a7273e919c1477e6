"use client";

import { useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useRef, useState } from "react";
import { jobHref } from "@/lib/address";
import type { Job } from "@/lib/documents";
import { inOrder, isGrave, plural, sayVerb } from "@/lib/format";
import { act, verbsOf } from "@/features/job/act";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { Icon } from "@/ui/icon";
import { ProgressBar, type Progress } from "./progress";
import type { Selection } from "./selection";

const AT_ONCE = 4;

/** What can be done with the selected rows, over the page's lower edge so that nothing moves when it comes. */
export function SelectedBar({ selection, shown }: { selection: Selection; shown: number }) {
  const [verb, setVerb] = useState<string | null>(null);
  const { jobs } = selection;
  if (jobs.length === 0) return null;
  const verbs = inOrder([...new Set(jobs.flatMap(verbsOf))].filter((each) => each !== "signal"));
  return (
    <>
      <section aria-label="Selected jobs" className="fixed inset-x-2 bottom-2 z-20 mx-auto flex w-fit max-w-[calc(100vw-16px)] flex-wrap items-center justify-center gap-x-4 gap-y-2 rounded-lg border border-strong bg-panel p-2 sm:bottom-4 lg:left-[216px]">
        <span className="flex items-center gap-1">
          <span role="status" className="px-2 text-13 font-medium" data-testid="selected">{jobs.length} selected</span>
          {jobs.length < shown && <button type="button" className="button button-small button-bare" onClick={() => selection.all(true)}>All {shown}</button>}
          <button type="button" className="button button-small button-bare" aria-label="Select none" title="Select none (Esc)" onClick={selection.clear}><Icon name="close" size={14} /></button>
        </span>
        <span className="flex flex-wrap items-center justify-center gap-2">
          {verbs.map((each) => (
            <button key={each} type="button" data-verb={each} className={`button button-small ${isGrave(each) ? "button-danger" : ""}`} onClick={() => setVerb(each)}>
              {sayVerb(each)} {jobs.filter((job) => verbsOf(job).includes(each)).length}
            </button>
          ))}
        </span>
      </section>
      {verb && <SelectedDialog jobs={jobs} verb={verb} onClose={(done) => { setVerb(null); if (done) selection.clear(); }} />}
    </>
  );
}

/** One verb on the selected jobs, one by one: those that refuse are named, with why. */
function SelectedDialog({ jobs, verb, onClose }: { jobs: readonly Job[]; verb: string; onClose: (done: boolean) => void }) {
  const client = useQueryClient();
  // Who is asked is decided when the sheet opens: the list goes on living behind it.
  const [asked] = useState(() => jobs.filter((job) => verbsOf(job).includes(verb)));
  const [others] = useState(jobs.length - asked.length);
  const [reason, setReason] = useState("");
  const [progress, setProgress] = useState<Progress | null>(null);
  const [refused, setRefused] = useState<{ job: Job; why: string }[]>([]);
  const stopped = useRef(false);

  const run = async () => {
    const left = [...asked];
    const sum: Progress = { total: asked.length, done: 0, refused: 0, over: false };
    setProgress({ ...sum });
    const one = async () => {
      for (let job = left.shift(); job && !stopped.current; job = left.shift()) {
        const here = job;
        try {
          await act(here, verb, reason);
          sum.done += 1;
        } catch (error) {
          sum.refused += 1;
          setRefused((all) => [...all, { job: here, why: (error as Error).message }]);
        }
        setProgress({ ...sum });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    setProgress({ ...sum, over: true });
    void client.invalidateQueries({ queryKey: ["jobs"] });
    void client.invalidateQueries({ queryKey: ["stats"] });
  };
  const close = () => { stopped.current = true; onClose(progress !== null); };

  return (
    <Dialog title={`${sayVerb(verb)} ${plural(asked.length, "job")}`} onClose={close}>
      {progress ? <ProgressBar progress={progress} verb={verb} /> : (
        <p className="text-13 text-muted">
          {MEANS[verb]}
          {others > 0 && ` ${plural(others, "other")} of the selection ${others === 1 ? "is" : "are"} in no state for it and ${others === 1 ? "stays" : "stay"} as ${others === 1 ? "it is" : "they are"}.`}
        </p>
      )}
      {verb === "cancel" && !progress && <div className="mt-4"><Field name="Reason" hint="Optional; it stands in the timeline."><input className="input" value={reason} onChange={(event) => setReason(event.target.value)} /></Field></div>}
      {refused.length > 0 && (
        <ul className="mt-4 flex max-h-60 flex-col gap-2 overflow-y-auto text-13" data-testid="refused-jobs">
          {refused.map(({ job, why }) => <li key={String(job.id)}><Link prefetch={false} className="link" href={jobHref(job.id)}>{job.id}</Link> <span className="tone tone-red break-words">{why}</span></li>)}
        </ul>
      )}
      <DialogActions>
        {progress?.over ? <button type="button" className="button button-primary" onClick={close}>Close</button> : progress ? (
          <button type="button" className="button" onClick={() => { stopped.current = true; }}>Stop here</button>
        ) : (
          <>
            <button type="button" className="button" onClick={close}>Keep everything as it is</button>
            <button type="button" className={`button ${isGrave(verb) ? "button-danger" : "button-primary"}`} onClick={() => void run()}>{sayVerb(verb)} {plural(asked.length, "job")}</button>
          </>
        )}
      </DialogActions>
    </Dialog>
  );
}

const MEANS: Record<string, string> = {
  cancel: "What waits ends at once and never runs; what runs is asked to stop, and ends at its next checkpoint.",
  run_now: "They are due now instead of later.",
  retry: "Each is made again as a new job that names the old one.",
  delete: "Their input, output, log and history are gone for good.",
};
