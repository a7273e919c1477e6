"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { ask, type Details, requestsOf } from "@/features/job/ask";
import { RequestButton, RequestFields } from "@/features/job/request-fields";
import { jobHref } from "@/lib/address";
import type { Job } from "@/lib/documents";
import { plural } from "@/lib/format";
import { type JobRequest, REQUESTS } from "@/lib/lifecycle.gen";
import { keys } from "@/lib/query-keys";
import { Dialog } from "@/ui/dialog";
import { Icon } from "@/ui/icon";
import { Link } from "@/ui/link";
import { type Progress, ProgressActions, ProgressBar } from "./progress";
import type { Selection } from "./selection";

const AT_ONCE = 4;

/** What can be done with the selected rows, over the page's lower edge so that nothing moves when it comes. */
export function SelectedBar({ selection, shown }: { selection: Selection; shown: number }) {
  const [request, setRequest] = useState<JobRequest | null>(null);
  const { jobs } = selection;
  if (jobs.length === 0) return null;
  const able = (each: JobRequest) => jobs.filter((job) => requestsOf(job).includes(each)).length;
  return (
    <>
      <section
        aria-label="Selected jobs"
        className="fixed inset-x-2 bottom-2 z-20 mx-auto flex w-fit max-w-[calc(100vw-16px)] flex-wrap items-center justify-center gap-x-4 gap-y-2 rounded-lg border border-strong bg-panel p-2 sm:bottom-4 lg:left-[216px]"
      >
        <span className="flex items-center gap-1">
          <span role="status" className="px-2 text-13 font-medium" data-testid="selected">
            {jobs.length} selected
          </span>
          {jobs.length < shown && (
            <button
              type="button"
              className="button button-small button-bare"
              onClick={() => selection.all(true)}
            >
              All {shown}
            </button>
          )}
          <button
            type="button"
            className="button button-small button-bare"
            aria-label="Clear the selection"
            title="Clear the selection (Esc)"
            onClick={selection.clear}
          >
            <Icon name="close" size={14} />
          </button>
        </span>
        <span className="flex flex-wrap items-center justify-center gap-2">
          {REQUESTS.filter((each) => each.bulk && able(each) > 0).map((each) => (
            <button
              key={each.name}
              type="button"
              data-verb={each.name}
              className={`button button-small ${each.dangerous ? "button-danger" : ""}`}
              onClick={() => setRequest(each)}
            >
              {each.label} {able(each)}
            </button>
          ))}
        </span>
      </section>
      {request && (
        <SelectedDialog
          jobs={jobs}
          request={request}
          onClose={(done) => {
            setRequest(null);
            if (done) selection.clear();
          }}
        />
      )}
    </>
  );
}

/** One request for the selected jobs, one by one: those that refuse it are listed, with the reason. */
function SelectedDialog({
  jobs,
  request,
  onClose,
}: {
  jobs: readonly Job[];
  request: JobRequest;
  onClose: (done: boolean) => void;
}) {
  const client = useQueryClient();
  // Who is asked is decided when the sheet opens: the list goes on living behind it.
  const [asked] = useState(() => jobs.filter((job) => requestsOf(job).includes(request)));
  const [others] = useState(jobs.length - asked.length);
  const [details, setDetails] = useState<Details>({});
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
          await ask(here, request, details);
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
    void client.invalidateQueries({ queryKey: keys.jobs });
    void client.invalidateQueries({ queryKey: keys.stats });
  };
  const stop = () => {
    stopped.current = true;
  };
  const close = () => {
    stop();
    onClose(progress !== null);
  };

  return (
    <Dialog title={`${request.label} ${plural(asked.length, "job")}`} onClose={close}>
      {progress ? (
        <ProgressBar progress={progress} label={request.label} />
      ) : (
        <p className="text-13 text-muted">
          {request.effect}
          {others > 0 &&
            ` The state of ${plural(others, "other selected job")} does not allow it; nothing changes there.`}
        </p>
      )}
      {!progress && <RequestFields request={request} details={details} onChange={setDetails} />}
      {refused.length > 0 && (
        <ul className="mt-4 flex max-h-60 flex-col gap-2 overflow-y-auto text-13" data-testid="refused-jobs">
          {refused.map(({ job, why }) => (
            <li key={String(job.id)}>
              <Link className="link" href={jobHref(job.id)}>
                {job.id}
              </Link>{" "}
              <span className="tone tone-red break-words">{why}</span>
            </li>
          ))}
        </ul>
      )}
      <ProgressActions progress={progress} onClose={close} onStop={stop}>
        <RequestButton request={request} onClick={() => void run()}>
          {plural(asked.length, "job")}
        </RequestButton>
      </ProgressActions>
    </Dialog>
  );
}
