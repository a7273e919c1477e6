"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "@/lib/api";
import type { Job } from "@/lib/documents";
import { read } from "@/lib/json";
import { keys } from "@/lib/query-keys";
import { Dialog, FormActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { useToast } from "@/ui/toast";

type Props = { job: Job; onClose: () => void; name?: string };

/** Sends a signal; `given` is the name to begin with. */
export function SignalDialog({ job, onClose, name: given }: Props) {
  const client = useQueryClient();
  const say = useToast();
  const [name, setName] = useState(given ?? job.awaits[0] ?? "");
  const [payload, setPayload] = useState("{}");
  const [dedupKey, setDedupKey] = useState("");
  const parsed = parse(payload);
  const send = useMutation({
    mutationFn: () =>
      post("/api/jobs/{id}/signals", {
        path: { id: job.id },
        body: {
          name: name.trim(),
          payload: parsed.value,
          ...(dedupKey.trim() ? { dedupKey: dedupKey.trim() } : {}),
        },
      }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.job(job.id) });
      say(`The signal ${name.trim()} is in the inbox of job ${job.id}.`);
      onClose();
    },
  });
  return (
    <Dialog title={`Send a signal to job ${job.id}`} onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!parsed.wrong) send.mutate();
        }}
      >
        <Field name="Name" hint={job.awaits.length ? `It waits for ${job.awaits.join(" or ")}.` : undefined}>
          <input className="input" required value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field name="Payload" hint="JSON" wrong={parsed.wrong}>
          <textarea
            className="input"
            rows={4}
            spellCheck={false}
            value={payload}
            onChange={(event) => setPayload(event.target.value)}
          />
        </Field>
        <Field name="Deduplication key" hint="Optional; a second signal with the same key is not stored.">
          <input className="input" value={dedupKey} onChange={(event) => setDedupKey(event.target.value)} />
        </Field>
        <FormActions
          error={send.error}
          onClose={onClose}
          disabled={send.isPending || !name.trim() || !!parsed.wrong}
        >
          Send signal
        </FormActions>
      </form>
    </Dialog>
  );
}

function parse(text: string): { value: unknown; wrong: string | null } {
  try {
    return { value: read(text.trim() || "null"), wrong: null };
  } catch {
    return { value: null, wrong: "This is not JSON." };
  }
}
