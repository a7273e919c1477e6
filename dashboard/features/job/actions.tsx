"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { jobHref } from "@/lib/address";
import { part, post, remove } from "@/lib/api";
import type { Job } from "@/lib/documents";
import { pathOf, sayVerb } from "@/lib/format";
import { useMay } from "@/lib/session";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { isTerminal } from "@/ui/state";
import { useToast } from "@/ui/toast";
import { SignalDialog } from "./signal-dialog";

/** What the job's `can` allows, as buttons; nothing else is offered. */
export function Actions({ job }: { job: Job }) {
  const client = useQueryClient();
  const router = useRouter();
  const say = useToast();
  const [asking, setAsking] = useState<string | null>(null);
  const [reason, setReason] = useState("");
  const may = { operate: useMay("operate"), enqueue: useMay("enqueue") };

  const act = useMutation({
    mutationFn: (verb: string) => verb === "delete" ? remove<{ job?: Job }>(`/api/jobs/${part(job.id)}`)
      : post<{ job: Job }>(`/api/jobs/${part(job.id)}/${pathOf(verb)}`, verb === "cancel" && reason.trim() ? { reason: reason.trim() } : {}),
    onSuccess: (answer, verb) => {
      setAsking(null);
      void client.invalidateQueries({ queryKey: ["jobs"] });
      if (verb === "delete") {
        say(`Job ${job.id} is deleted.`);
        return router.push("/jobs/");
      }
      void client.invalidateQueries({ queryKey: ["job", String(job.id)] });
      if (answer.job && String(answer.job.id) !== String(job.id)) {
        say(`Job ${answer.job.id} tries again what ${job.id} did.`);
        router.push(jobHref(answer.job.id));
      } else say(verb === "cancel" && answer.job?.cancelRequestedAt && !isTerminal(answer.job.state) ? "It is asked to stop, and ends at its next checkpoint." : `${sayVerb(verb)}: done.`);
    },
    onError: (error) => asking === null && say(error.message, true),
  });

  const verbs = job.can.filter((verb) => (verb === "signal" ? may.enqueue : may.operate));
  const asks = (verb: string) => verb === "cancel" || verb === "signal" || verb === "delete";
  return (
    <>
      {verbs.map((verb) => (
        <button key={verb} type="button" data-verb={verb} disabled={act.isPending || (verb === "cancel" && !!job.cancelRequestedAt)}
          className={`button ${verb === "cancel" ? "button-danger" : ""}`} onClick={() => (asks(verb) ? setAsking(verb) : act.mutate(verb))}>
          {verb === "cancel" && job.cancelRequestedAt ? "Asked to stop" : sayVerb(verb)}
        </button>
      ))}
      {isTerminal(job.state) && may.operate && !job.can.includes("delete") && <button type="button" data-verb="delete" className="button button-danger" onClick={() => setAsking("delete")}>Delete</button>}
      {asking === "signal" && <SignalDialog job={job} onClose={() => setAsking(null)} />}
      {asking === "cancel" && (
        <Dialog title={`Cancel job ${job.id}`} onClose={() => setAsking(null)}>
          <p className="mb-4 text-13 text-muted">{job.startedAt && !isTerminal(job.state) && job.worker ? "It is running: it is asked to stop and ends at its next checkpoint." : "It ends at once and never runs."}</p>
          <Field name="Reason" hint="Optional; it stands in the timeline."><input className="input" value={reason} onChange={(event) => setReason(event.target.value)} /></Field>
          <DialogActions error={act.error}>
            <button type="button" className="button" onClick={() => setAsking(null)}>Keep it</button>
            <button type="button" className="button button-danger" disabled={act.isPending} onClick={() => act.mutate("cancel")}>Cancel the job</button>
          </DialogActions>
        </Dialog>
      )}
      {asking === "delete" && (
        <Dialog title={`Delete job ${job.id}`} onClose={() => setAsking(null)}>
          <p className="text-13 text-muted">Its input, output, log and history are gone for good.</p>
          <DialogActions error={act.error}>
            <button type="button" className="button" onClick={() => setAsking(null)}>Keep it</button>
            <button type="button" className="button button-danger" disabled={act.isPending} onClick={() => act.mutate("delete")}>Delete the job</button>
          </DialogActions>
        </Dialog>
      )}
    </>
  );
}
