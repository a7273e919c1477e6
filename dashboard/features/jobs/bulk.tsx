"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { bodyOf, type Details } from "@/features/job/ask";
import { RequestButton, RequestFields } from "@/features/job/request-fields";
import { post } from "@/lib/api";
import type { BodyOf } from "@/lib/api-types";
import type { BulkPortion as Portion } from "@/lib/documents";
import { count, plural } from "@/lib/format";
import { type BulkVerb, type JobRequest, REQUESTS } from "@/lib/lifecycle.gen";
import { keys } from "@/lib/query-keys";
import { Failure } from "@/ui/answer";
import { Dialog } from "@/ui/dialog";
import { asQuery, type Filter, say } from "./filter";
import { type Progress, ProgressActions, ProgressBar } from "./progress";

/** The bulk requests that the states of the filter allow. */
const requestsFor = ({ state }: Filter) =>
  REQUESTS.filter(
    (request) => request.bulk && (!state.length || request.from.some((each) => state.includes(each))),
  );

type Props = { filter: Filter; onClose: () => void; choose?: string };

/** One request for every job of the filter: first the count, then the work, a thousand at a time. */
export function BulkDialog({ filter, onClose, choose }: Props) {
  const client = useQueryClient();
  const [requests] = useState(() => requestsFor(filter));
  const [request, setRequest] = useState<JobRequest | null>(
    requests.find((each) => each.name === choose) ?? null,
  );
  const [details, setDetails] = useState<Details>({});
  const [progress, setProgress] = useState<Progress | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [counted, setCounted] = useState(0);
  const stopped = useRef(false);
  const stop = () => {
    stopped.current = true;
  };
  const verb = request?.bulk;
  const dry = useQuery({
    queryKey: keys.bulk(request?.name, asQuery(filter)),
    queryFn: async ({ signal }) => {
      if (!verb) throw new Error("No request was chosen.");
      const sum = { able: 0, others: 0 };
      for await (const portion of portions(verb, { filter: asQuery(filter), dryRun: true }, signal)) {
        sum.others += portion.refused;
        sum.able += portion.matched - portion.refused;
        setCounted(sum.able);
      }
      return sum;
    },
    refetchInterval: false,
    gcTime: 0,
    enabled: progress === null && request !== null,
  });
  const { able: matched, others } = dry.data ?? { able: 0, others: 0 };

  const run = async () => {
    if (!verb) return;
    const sum: Progress = { total: matched + others, done: 0, refused: 0, over: false };
    setProgress({ ...sum });
    setError(null);
    try {
      for await (const portion of portions(verb, { filter: asQuery(filter), ...bodyOf(details) })) {
        sum.done += portion.done;
        sum.refused += portion.refused;
        setProgress({ ...sum });
        if (stopped.current) break;
      }
    } catch (failure) {
      setError(failure as Error);
    }
    setProgress({ ...sum, over: true });
    void client.invalidateQueries({ queryKey: keys.jobs });
    void client.invalidateQueries({ queryKey: keys.stats });
  };

  return (
    <Dialog
      title="Bulk actions"
      onClose={() => {
        stop();
        onClose();
      }}
    >
      <p className="mb-4 text-13 text-muted">
        Filter: <span className="text-ink break-words">{say(filter)}</span>
      </p>
      <fieldset disabled={progress !== null} className="mb-6 flex flex-wrap gap-2">
        <legend className="mb-2 text-13 font-medium">What to do</legend>
        {requests.map((each) => (
          <button
            key={each.name}
            type="button"
            aria-pressed={each === request}
            className={`button ${each === request ? "button-primary" : ""}`}
            onClick={() => {
              setRequest(each);
              setCounted(0);
              setDetails({});
            }}
          >
            {each.label}
          </button>
        ))}
        <div className="w-full">
          {request && <RequestFields request={request} details={details} onChange={setDetails} />}
        </div>
      </fieldset>
      {dry.error && <Failure error={dry.error} again={() => void dry.refetch()} />}
      {progress === null ? (
        <p aria-live="polite" className="min-h-8 text-20 font-semibold" data-testid="matched">
          {dry.isFetching && (counted ? `Counting… ${count(counted)}` : "Counting…")}
          {request && dry.isSuccess && !dry.isFetching && (
            <>
              {plural(matched, "job")}
              <span className="text-13 font-normal text-muted">
                {" "}
                will be {request.done}
                {others > 0 ? `; the state of ${plural(others, "other job")} does not allow it` : ""}.
              </span>
            </>
          )}
        </p>
      ) : (
        <ProgressBar progress={progress} label={request?.label ?? ""} />
      )}
      <ProgressActions progress={progress} error={error} onClose={onClose} onStop={stop}>
        {request && (
          <RequestButton request={request} disabled={!matched || dry.isFetching} onClick={() => void run()}>
            {plural(matched, "job")}
          </RequestButton>
        )}
      </ProgressActions>
    </Dialog>
  );
}

/** The answers to one bulk request, a thousand jobs after another, until no page is left. */
async function* portions(
  verb: BulkVerb,
  body: BodyOf<"post", "/api/jobs/bulk/{verb}">,
  signal?: AbortSignal,
): AsyncGenerator<Portion> {
  let cursor: string | null = null;
  do {
    const portion: Portion = await post("/api/jobs/bulk/{verb}", {
      path: { verb },
      body: { ...body, ...(cursor ? { cursor } : {}) },
      signal,
    });
    yield portion;
    cursor = portion.nextCursor;
  } while (cursor);
}
