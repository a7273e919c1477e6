"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { patch } from "@/lib/api";
import type { Queue } from "@/lib/documents";
import { keys } from "@/lib/query-keys";
import { Dialog, FormActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { useToast } from "@/ui/toast";

/** How much of a queue may run at once and how fast; an empty field is no limit. */
export function LimitsDialog({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const client = useQueryClient();
  const say = useToast();
  const text = (value: number | null | undefined) => (value == null ? "" : String(value));
  const [draft, setDraft] = useState({
    concurrency: text(queue.concurrency),
    limit: text(queue.rate?.limit),
    seconds: text(queue.rate?.seconds),
    keyConcurrency: text(queue.keyConcurrency),
    keyLimit: text(queue.keyRate?.limit),
    keySeconds: text(queue.keyRate?.seconds),
  });
  const save = useMutation({
    mutationFn: () =>
      patch("/api/queues/{name}", {
        path: { name: queue.name },
        body: {
          concurrency: number(draft.concurrency),
          rate: rate(draft.limit, draft.seconds),
          keyConcurrency: number(draft.keyConcurrency),
          keyRate: rate(draft.keyLimit, draft.keySeconds),
        },
      }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.queues });
      say(`Changed the limits of ${queue.name}.`);
      onClose();
    },
  });
  const field = (name: keyof typeof draft, label: string, hint?: string) => (
    <Field name={label} hint={hint}>
      <input
        className="input"
        type="number"
        min={1}
        step="any"
        inputMode="numeric"
        value={draft[name]}
        onChange={(event) => setDraft({ ...draft, [name]: event.target.value })}
      />
    </Field>
  );
  return (
    <Dialog title={`Limits of ${queue.name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <p className="mb-4 text-13 text-muted">
          They hold over all workers together. An empty field is no limit.
        </p>
        <div className="grid gap-4 sm:grid-cols-3">
          {field("concurrency", "Running at a time")}
          {field("limit", "Starts")}
          {field("seconds", "In how many seconds")}
          {field("keyConcurrency", "Running at a time per key")}
          {field("keyLimit", "Starts per key")}
          {field("keySeconds", "In how many seconds")}
        </div>
        <FormActions error={save.error} onClose={onClose} disabled={save.isPending}>
          Save
        </FormActions>
      </form>
    </Dialog>
  );
}

const number = (text: string) => (text.trim() ? Number(text) : null);
const rate = (limit: string, seconds: string) =>
  limit.trim() ? { limit: Number(limit), seconds: Number(seconds.trim() || 1) } : null;
