"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { go, jobHref } from "@/lib/address";
import type { Job } from "@/lib/documents";
import type { JobRequest } from "@/lib/lifecycle.gen";
import { keys } from "@/lib/query-keys";
import { useMay } from "@/lib/session";
import { visibleLine } from "@/lib/visible-text";
import { Dialog, DialogActions } from "@/ui/dialog";
import { later } from "@/ui/later";
import { isTerminal } from "@/ui/state";
import { useToast } from "@/ui/toast";
import { ask, type Details, requestsOf } from "./ask";
import { hasFields, RequestButton, RequestFields } from "./request-fields";

const EnqueueDialog = later(() => import("@/features/jobs/enqueue").then((it) => it.EnqueueDialog));
const CopyMenu = later(() => import("./copy-menu").then((it) => it.CopyMenu));
const SignalDialog = later(() => import("./signal-dialog").then((it) => it.SignalDialog));
const EditDialog = later(() => import("./edit").then((it) => it.EditDialog));

type DialogProps = { job: Job; onClose: () => void };
const DIALOGS: Record<string, React.ComponentType<DialogProps>> = {
  edit: EditDialog,
  signal: SignalDialog,
};

/** The requests that the job's `can` allows, as buttons, those that end or destroy work last; nothing else is offered. */
export function Actions({ job }: { job: Job }) {
  const client = useQueryClient();
  const say = useToast();
  const [asking, setAsking] = useState<JobRequest | null>(null);
  const [sending, setSending] = useState<string | null>(null);
  const [again, setAgain] = useState(false);
  const [details, setDetails] = useState<Details>({});
  const may = { operate: useMay("operate"), enqueue: useMay("enqueue") };

  const act = useMutation({
    mutationFn: (request: JobRequest) => ask(job, request, details),
    onSuccess: (answer, request) => {
      setAsking(null);
      void client.invalidateQueries({ queryKey: keys.jobs });
      if (!answer.job) {
        say(`Job ${job.id} is ${request.done}.`);
        return go("/jobs/");
      }
      void client.invalidateQueries({ queryKey: keys.job(job.id) });
      if (String(answer.job.id) !== String(job.id)) {
        say(`Job ${answer.job.id} is the retry of job ${job.id}.`);
        go(jobHref(answer.job.id));
      } else
        say(
          isAskedToStop(answer.job)
            ? "It is asked to stop, and ends at its next checkpoint."
            : `Job ${job.id} is ${request.done}.`,
        );
    },
    onError: (error) => asking === null && say(error.message, true),
  });

  const open = (request: JobRequest) => {
    if (!request.dangerous && !hasFields(request) && !DIALOGS[request.name]) return act.mutate(request);
    setDetails({});
    setAsking(request);
  };
  const close = () => setAsking(null);
  const Own = asking && DIALOGS[asking.name];
  const offered = requestsOf(job).filter((request) => may[request.scope]);
  const button = (request: JobRequest) => {
    const asked = request.name === "cancel" && isAskedToStop(job);
    return (
      <button
        key={request.name}
        type="button"
        data-verb={request.name}
        disabled={act.isPending || asked}
        className={`button ${request.dangerous ? "button-danger" : ""}`}
        onClick={() => open(request)}
      >
        {asked ? "Asked to stop" : request.label}
      </button>
    );
  };
  return (
    <>
      {offered.filter((request) => !request.dangerous).map(button)}
      {may.enqueue &&
        job.awaits.map((name) => (
          <button key={name} type="button" className="button" onClick={() => setSending(name)}>
            Send {visibleLine(name)}
          </button>
        ))}
      {may.enqueue && (
        <button type="button" className="button" onClick={() => setAgain(true)}>
          Run again with changes
        </button>
      )}
      <CopyMenu job={job} />
      {offered.filter((request) => request.dangerous).map(button)}
      {sending !== null && <SignalDialog job={job} name={sending} onClose={() => setSending(null)} />}
      {again && <EnqueueDialog like={job} onClose={() => setAgain(false)} />}
      {Own ? (
        <Own job={job} onClose={close} />
      ) : (
        asking && (
          <Dialog title={`${asking.label} job ${job.id}`} onClose={close}>
            <p className="text-13 text-muted">{asking.effect}</p>
            <RequestFields request={asking} details={details} onChange={setDetails} />
            <DialogActions error={act.error}>
              <button type="button" className="button" onClick={close}>
                Change nothing
              </button>
              <RequestButton request={asking} disabled={act.isPending} onClick={() => act.mutate(asking)}>
                the job
              </RequestButton>
            </DialogActions>
          </Dialog>
        )
      )}
    </>
  );
}

const isAskedToStop = (job: Job) => !!job.cancelRequestedAt && !isTerminal(job.state);
