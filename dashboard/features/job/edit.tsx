"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { faults, patch } from "@/lib/api";
import type { BodyOf } from "@/lib/api-types";
import type { Job } from "@/lib/documents";
import { State } from "@/lib/lifecycle.gen";
import { keys } from "@/lib/query-keys";
import { instant, local, ownZone } from "@/lib/time";
import { Dialog, FormActions } from "@/ui/dialog";
import { Field, TimeInput } from "@/ui/field";
import { useToast } from "@/ui/toast";

type Changes = BodyOf<"patch", "/api/jobs/{id}">;
type Draft = { queue: string; priority: string; tags: string; runAt: string; expiresAt: string };

/** Changes how a job that waits for a worker is scheduled; what one leaves alone is not sent. */
export function EditDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const client = useQueryClient();
  const say = useToast();
  const [before] = useState(() => draftOf(job));
  const [draft, setDraft] = useState(before);
  const changes = changesOf(before, draft);
  const save = useMutation({
    mutationFn: () => patch("/api/jobs/{id}", { path: { id: job.id }, body: changes }),
    onSuccess: (answer) => {
      client.setQueryData(keys.job(job.id), answer);
      void client.invalidateQueries({ queryKey: keys.job(job.id) });
      void client.invalidateQueries({ queryKey: keys.jobs });
      say(`Changed job ${job.id}.`);
      onClose();
    },
  });
  const wrong = faults(save.error);
  const set = (name: keyof Draft) => (event: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
    setDraft({ ...draft, [name]: event.target.value });
  const zone = `In your time zone, ${ownZone()}.`;
  return (
    <Dialog title={`Change job ${job.id}`} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <div className="grid gap-4 sm:grid-cols-2">
          <Field name="Queue" wrong={wrong.queue}>
            <input className="input" value={draft.queue} onChange={set("queue")} />
          </Field>
          <Field name="Priority" wrong={wrong.priority} hint="A lower number goes first.">
            <input className="input" inputMode="numeric" value={draft.priority} onChange={set("priority")} />
          </Field>
          {/* A job that is due is put off by a snooze: only one whose time is still to come has a time to change. */}
          {job.state === State.scheduled && (
            <Field name="Due" wrong={wrong.runAt} hint={zone}>
              <TimeInput value={draft.runAt} onChange={set("runAt")} />
            </Field>
          )}
          <Field name="Expires" wrong={wrong.expiresAt} hint="If it has not begun by then. Empty is never.">
            <TimeInput value={draft.expiresAt} onChange={set("expiresAt")} />
          </Field>
        </div>
        <Field name="Tags" wrong={wrong.tags} hint="One on each line.">
          <textarea className="input" rows={3} spellCheck={false} value={draft.tags} onChange={set("tags")} />
        </Field>
        <FormActions
          error={Object.keys(wrong).length ? null : save.error}
          onClose={onClose}
          disabled={save.isPending || Object.keys(changes).length === 0}
        >
          Save
        </FormActions>
      </form>
    </Dialog>
  );
}

const draftOf = (job: Job): Draft => ({
  queue: job.queue,
  priority: String(job.priority),
  tags: job.tags.join("\n"),
  runAt: local(job.runAt),
  expiresAt: job.expiresAt ? local(job.expiresAt) : "",
});

/** Only what is different, as the service takes it; what is no number is left for it to refuse. */
function changesOf(before: Draft, draft: Draft): Changes {
  const changes: Changes = {};
  const isNew = (name: keyof Draft) => draft[name] !== before[name];
  if (isNew("queue")) changes.queue = draft.queue.trim();
  if (isNew("priority"))
    changes.priority = /^\s*-?\d+\s*$/.test(draft.priority) ? Number(draft.priority) : draft.priority;
  if (isNew("tags")) changes.tags = lines(draft.tags);
  if (isNew("runAt")) changes.runAt = instant(draft.runAt);
  if (isNew("expiresAt")) changes.expiresAt = draft.expiresAt ? instant(draft.expiresAt) : null;
  return changes;
}

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
