"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useState } from "react";
import { jobHref } from "@/lib/address";
import { ApiError, faults, part, post } from "@/lib/api";
import type { Job, Machine } from "@/lib/documents";
import { useMachines } from "@/lib/machines";
import { WhenField } from "@/features/schedules/when-field";
import { Answer, Empty } from "@/ui/answer";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { useToast } from "@/ui/toast";
import { InputForm, valueOf, type Draft } from "./input-form";

export function EnqueueDialog({ onClose, action }: { onClose: () => void; action?: string }) {
  const machines = useMachines();
  return (
    <Dialog title="Enqueue a job" onClose={onClose}>
      <Answer query={machines}>
        {({ machines: all }) => all.length > 0 ? <EnqueueForm machines={all} action={action} onClose={onClose} /> : (
          <Empty title="No machine is known yet.">Start a worker with your code, for example <code>kairos dev app.py</code>; its jobs and machines appear here.</Empty>
        )}
      </Answer>
    </Dialog>
  );
}

function EnqueueForm({ machines, action, onClose }: { machines: Machine[]; action?: string; onClose: () => void }) {
  const client = useQueryClient();
  const say = useToast();
  const [name, setName] = useState(action ?? machines[0]!.name);
  const [draft, setDraft] = useState<Draft>({});
  const [when, setWhen] = useState("");
  const [more, setMore] = useState({ queue: "", priority: "", key: "", unique: "", tags: "", ttl: "", retry: "" });
  const [tried, setTried] = useState(false);
  const machine = machines.find((each) => each.name === name) ?? machines[0]!;
  const { value, wrong } = valueOf(machine.input, draft);

  const enqueue = useMutation({
    mutationFn: () => post<{ job: Job }>("/api/jobs", {
      action: machine.name, input: value, ...(when.trim() ? { when: when.trim() } : {}), ...asOptions(more),
    }),
    onSuccess: ({ job }) => {
      void client.invalidateQueries({ queryKey: ["jobs"] });
      void client.invalidateQueries({ queryKey: ["stats"] });
      say(<>Job <Link className="link" href={jobHref(job.id)}>{job.id}</Link> is accepted.</>);
      onClose();
    },
  });
  const refusals = refused(enqueue.error);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(wrong).length === 0) enqueue.mutate();
  };

  return (
    <form onSubmit={submit} className="flex flex-col gap-4" noValidate>
      <Field name="Action" hint={machine.workers === 0 ? "No live worker knows this action: the job will wait for one." : undefined}>
        <select className="input" value={machine.name} onChange={(event) => { setName(event.target.value); setDraft({}); setTried(false); enqueue.reset(); }}>
          {machines.map((each) => <option key={part(each.name)} value={each.name}>{each.name}</option>)}
        </select>
      </Field>
      <InputForm schema={machine.input} draft={draft} change={setDraft} wrong={{ ...(tried ? wrong : {}), ...refusals }} />
      <WhenField name="When" value={when} onChange={setWhen} optional />
      <details open={Object.keys(more).some((name) => refusals[name]) || undefined}>
        <summary className="w-fit text-13 text-muted">More options</summary>
        <div className="mt-3 grid gap-4 sm:grid-cols-2">
          {([["queue", "Queue", machine.queue], ["priority", "Priority", "a lower number goes first"], ["key", "Key", "one job of a key runs at a time"], ["unique", "Unique", "one live job of this name"], ["tags", "Tags", "separated by commas"], ["ttl", "TTL", "10m, 1h: expires if not begun by then"], ["retry", "Attempts", "how often in all, in place of the action’s own"]] as const).map(([field, label, hint]) => (
            <Field key={field} name={label} hint={hint} wrong={refusals[field]}>
              <input className="input" value={more[field]} onChange={(event) => setMore({ ...more, [field]: event.target.value })} />
            </Field>
          ))}
        </div>
      </details>
      <DialogActions error={enqueue.error}>
        <button type="button" className="button" onClick={onClose}>Close</button>
        <button type="submit" className="button button-primary" disabled={enqueue.isPending}>{enqueue.isPending ? "Enqueueing…" : "Enqueue"}</button>
      </DialogActions>
    </form>
  );
}

function asOptions(more: Record<"queue" | "priority" | "key" | "unique" | "tags" | "ttl" | "retry", string>) {
  const options: Record<string, unknown> = {};
  for (const name of ["queue", "key", "unique", "ttl"] as const) if (more[name].trim()) options[name] = more[name].trim();
  if (more.priority.trim()) options.priority = whole(more.priority);
  if (more.retry.trim()) options.retry = { attempts: whole(more.retry) };
  const tags = more.tags.split(",").map((tag) => tag.trim()).filter(Boolean);
  if (tags.length) options.tags = tags;
  return options;
}

/** A whole number; what is none is left for the service to refuse. */
const whole = (text: string) => (/^-?\d+$/.test(text.trim()) ? Number(text) : text);

/** What the service says about single fields; an argument is told by its own name. */
function refused(error: Error | null): Record<string, string> {
  const wrong = faults(error);
  const field = error instanceof ApiError ? error.details.field : undefined;
  if (typeof field === "string" && field.startsWith("input")) wrong[field.replace(/^input\.?/, "").replace(/[.[].*$/, "")] = error!.message;
  return wrong;
}
