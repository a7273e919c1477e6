"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { jobHref } from "@/lib/address";
import type { Job } from "@/lib/documents";
import { inOrder, isGrave, sayVerb } from "@/lib/format";
import { INITIAL } from "@/lib/lifecycle.gen";
import { useMay } from "@/lib/session";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { isTerminal } from "@/ui/state";
import { useToast } from "@/ui/toast";
import { act as ask, verbsOf } from "./act";
import { EditDialog } from "./edit";
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
    mutationFn: (verb: string) => ask(job, verb, reason),
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

  const verbs = inOrder(verbsOf(job)).filter((verb) => (verb === "signal" ? may.enqueue : may.operate));
  const asks = (verb: string) => verb === "cancel" || verb === "signal" || verb === "delete";
  return (
    <>
      {/* A job begins in the states in which it waits for a worker, and in those alone it can be changed. */}
      {may.operate && INITIAL.includes(job.state) && <button type="button" className="button" onClick={() => setAsking("change")}>Change</button>}
      {verbs.map((verb) => (
        <button key={verb} type="button" data-verb={verb} disabled={act.isPending || (verb === "cancel" && !!job.cancelRequestedAt)}
          className={`button ${isGrave(verb) ? "button-danger" : ""}`} onClick={() => (asks(verb) ? setAsking(verb) : act.mutate(verb))}>
          {verb === "cancel" && job.cancelRequestedAt ? "Asked to stop" : sayVerb(verb)}
        </button>
      ))}
      {asking === "change" && <EditDialog job={job} onClose={() => setAsking(null)} />}
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
