"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { WhenField } from "@/features/schedules/when-field";
import { go, jobHref } from "@/lib/address";
import { ApiError, faults, part, post } from "@/lib/api";
import { base } from "@/lib/base-path";
import type { Job, Machine } from "@/lib/documents";
import { useMachines } from "@/lib/machines";
import { keys } from "@/lib/query-keys";
import { asCurl, asPython } from "@/lib/snippets";
import { Answer, Empty } from "@/ui/answer";
import { CopyButton } from "@/ui/code";
import { Dialog, FormActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { Link } from "@/ui/link";
import { useToast } from "@/ui/toast";
import { asOptions, NO_OPTIONS, OPTION_FIELDS, optionsOf, withoutHidden } from "./enqueue-options";
import { EMPTY, InputForm, inputOf, type Written, writtenOf } from "./input-form";

type Props = { onClose: () => void; action?: string; like?: Job };

/** Enqueues a job; filled in `like` another one where that is to run again with changes. */
export function EnqueueDialog({ onClose, action, like }: Props) {
  const machines = useMachines();
  return (
    <Dialog title={like ? `Run job ${like.id} again with changes` : "Enqueue a job"} onClose={onClose}>
      <Answer query={machines}>
        {({ machines: all }) =>
          all.length > 0 ? (
            <EnqueueForm machines={all} action={like?.action ?? action} like={like} onClose={onClose} />
          ) : (
            <Empty title="No machine is known yet.">
              Start a worker with your code, for example <code>kairos dev app.py</code>; its jobs and machines
              appear here.
            </Empty>
          )
        }
      </Answer>
    </Dialog>
  );
}

function EnqueueForm({ machines, action, like, onClose }: Props & { machines: Machine[] }) {
  const client = useQueryClient();
  const say = useToast();
  const [name, setName] = useState(action ?? machines[0]!.name);
  const machine = machines.find((each) => each.name === name) ?? machines[0]!;
  const [written, setWritten] = useState<Written>(() =>
    like ? writtenOf(withoutHidden(like.input, machine), machine.input) : EMPTY,
  );
  const [when, setWhen] = useState("");
  const [more, setMore] = useState(like ? optionsOf(like, machine) : NO_OPTIONS);
  const [hasOptions] = useState(Object.values(more).some(Boolean));
  const [tried, setTried] = useState(false);
  const { value, wrong } = inputOf(machine.input, written);
  const options = {
    ...(when.trim() ? { when: when.trim() } : {}),
    ...asOptions(more),
    ...(like?.action === machine.name ? { retryOf: like.id } : {}),
  };

  const enqueue = useMutation({
    mutationFn: () => post("/api/jobs", { body: { action: machine.name, input: value, ...options } }),
    onSuccess: ({ job }) => {
      void client.invalidateQueries({ queryKey: keys.jobs });
      void client.invalidateQueries({ queryKey: keys.stats });
      say(
        <>
          Job{" "}
          <Link className="link" href={jobHref(job.id)}>
            {job.id}
          </Link>{" "}
          is accepted.
        </>,
      );
      onClose();
      if (like) go(jobHref(job.id));
    },
  });
  const refusals = refused(enqueue.error);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(wrong).length === 0) enqueue.mutate();
  };
  const url = typeof window === "undefined" ? "" : window.location.origin + base();
  const request = { action: machine.name, input: value, options };

  return (
    <form onSubmit={submit} className="flex flex-col gap-4" noValidate>
      <Field
        name="Action"
        hint={
          machine.workers === 0 ? "No live worker knows this action: the job will wait for one." : undefined
        }
      >
        <select
          className="input"
          value={machine.name}
          onChange={(event) => {
            setName(event.target.value);
            setWritten(EMPTY);
            setTried(false);
            enqueue.reset();
          }}
        >
          {machines.map((each) => (
            <option key={part(each.name)} value={each.name}>
              {each.name}
            </option>
          ))}
        </select>
      </Field>
      <div data-begin={action === undefined ? undefined : ""}>
        <InputForm
          schema={machine.input}
          written={written}
          change={setWritten}
          wrong={{ ...(tried ? wrong : {}), ...refusals }}
        />
      </div>
      <WhenField name="When" value={when} onChange={setWhen} optional />
      <details open={hasOptions || Object.keys(more).some((each) => refusals[each]) || undefined}>
        <summary className="w-fit text-13 text-muted">More options</summary>
        <div className="mt-3 grid gap-4 sm:grid-cols-2">
          {OPTION_FIELDS.map(([field, label, hint]) => (
            <Field key={field} name={label} hint={hint} wrong={refusals[field]}>
              <input
                className="input"
                value={more[field]}
                onChange={(event) => setMore({ ...more, [field]: event.target.value })}
              />
            </Field>
          ))}
        </div>
      </details>
      <FormActions
        error={enqueue.error}
        onClose={onClose}
        disabled={enqueue.isPending}
        before={
          <>
            <CopyButton label="Copy as curl" text={() => asCurl(url, request)} />
            <CopyButton label="Copy as Python" text={() => asPython(url, request)} />
            <span className="flex-1" />
          </>
        }
      >
        {enqueue.isPending ? "Enqueueing…" : like ? "Run again" : "Enqueue"}
      </FormActions>
    </form>
  );
}

/** What the service says about single fields; an argument is told by its own name. */
function refused(error: Error | null): Record<string, string> {
  const wrong = faults(error);
  const field = error instanceof ApiError ? error.details.field : undefined;
  if (typeof field === "string" && field.startsWith("input"))
    wrong[field.replace(/^input\.?/, "").replace(/[.[].*$/, "")] = error!.message;
  return wrong;
}
