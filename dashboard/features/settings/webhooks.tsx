"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { jobHref } from "@/lib/address";
import { patch, post, remove } from "@/lib/api";
import type { Alarm, NewWebhook as Made, Webhook } from "@/lib/documents";
import { useList } from "@/lib/paged-list";
import { keys } from "@/lib/query-keys";
import { Answer, Empty } from "@/ui/answer";
import { Confirm, Dialog, FormActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { Link } from "@/ui/link";
import { More } from "@/ui/more";
import { Panel } from "@/ui/panel";
import { Time } from "@/ui/time";
import { useToast } from "@/ui/toast";
import { SecretDialog } from "./secret";

const DONE = { pause: "Paused the webhook.", resume: "Resumed the webhook.", delete: "Deleted the webhook." };

export function Webhooks() {
  const client = useQueryClient();
  const say = useToast();
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const [removing, setRemoving] = useState<Webhook | null>(null);
  const list = useList("webhooks", "/api/webhooks", {});
  const again = () => client.invalidateQueries({ queryKey: keys.webhooks });
  const act = useMutation({
    mutationFn: async ({ hook, verb }: { hook: Webhook; verb: "test" | "pause" | "resume" | "delete" }) => {
      const path = { id: hook.id };
      if (verb === "test") await post("/api/webhooks/{id}/test", { path });
      else if (verb === "delete") await remove("/api/webhooks/{id}", { path });
      else await patch("/api/webhooks/{id}", { path, body: { paused: verb === "pause" } });
    },
    onSuccess: (_, { verb }) => {
      setRemoving(null);
      say(verb === "test" ? "Sent a test alarm. Its delivery is a job." : DONE[verb]);
      return again();
    },
    onError: (error) => say(error.message, true),
  });
  return (
    <>
      <Panel
        title="Webhooks"
        flush
        aside={
          <button type="button" className="button button-small" onClick={() => setAdding(true)}>
            New webhook
          </button>
        }
      >
        <Answer query={list.query}>
          {({ webhooks }) =>
            webhooks.length === 0 ? (
              <Empty title="No webhooks.">A webhook receives every alarm as a signed request.</Empty>
            ) : (
              <ul className="divide-y text-13">
                {webhooks.map((hook) => (
                  <li
                    key={String(hook.id)}
                    className="flex flex-wrap items-center justify-between gap-3 px-4 py-3"
                  >
                    <span className="min-w-0">
                      <code className="block break-all">{hook.url}</code>
                      <span className="text-12 text-muted">
                        {hook.kinds.length ? hook.kinds.join(", ") : "all alarms"} · created{" "}
                        <Time at={hook.createdAt} />
                        {hook.paused && <span className="tone tone-amber"> · paused</span>}
                        {hook.lastDelivery && (
                          <>
                            {" "}
                            · last delivery <Time at={hook.lastDelivery.at} />,{" "}
                            <Link className="link" href={jobHref(hook.lastDelivery.job)}>
                              {hook.lastDelivery.state}
                            </Link>
                          </>
                        )}
                      </span>
                    </span>
                    <span className="flex gap-2">
                      <button
                        type="button"
                        className="button button-small"
                        disabled={act.isPending}
                        onClick={() => act.mutate({ hook, verb: "test" })}
                      >
                        Test
                      </button>
                      <button
                        type="button"
                        className="button button-small"
                        disabled={act.isPending}
                        onClick={() => act.mutate({ hook, verb: hook.paused ? "resume" : "pause" })}
                      >
                        {hook.paused ? "Resume" : "Pause"}
                      </button>
                      <button
                        type="button"
                        className="button button-small button-danger"
                        onClick={() => setRemoving(hook)}
                      >
                        Delete
                      </button>
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
        <More list={list} />
      </Panel>
      {adding && (
        <NewWebhook
          onClose={() => setAdding(false)}
          onMade={(hook) => {
            setAdding(false);
            setMade(hook);
            void again();
          }}
        />
      )}
      {made && (
        <SecretDialog
          title="The webhook’s signing secret"
          secret={made.secret}
          kept="Kairos keeps it to sign what it sends; your endpoint checks the signature with it."
          onClose={() => setMade(null)}
        />
      )}
      {removing && (
        <Confirm
          title="Delete the webhook"
          label="Delete the webhook"
          onConfirm={() => act.mutate({ hook: removing, verb: "delete" })}
          onClose={() => setRemoving(null)}
          pending={act.isPending}
        >
          <span className="break-all">Alarms are no longer sent to {removing.url}.</span>
        </Confirm>
      )}
    </>
  );
}

function NewWebhook({ onClose, onMade }: { onClose: () => void; onMade: (hook: Made) => void }) {
  const [url, setUrl] = useState("");
  const [kinds, setKinds] = useState("");
  const make = useMutation({
    mutationFn: () =>
      post("/api/webhooks", {
        body: {
          url: url.trim(),
          // The service refuses a kind that it does not have, and names the nearest.
          kinds: kinds
            .split(",")
            .map((kind) => kind.trim())
            .filter(Boolean) as Alarm["kind"][],
        },
      }),
    onSuccess: ({ webhook }) => onMade(webhook),
  });
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        <Field name="URL" hint="Alarms are sent there by POST, signed.">
          <input
            className="input"
            type="url"
            required
            placeholder="https://example.org/alarms"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
        </Field>
        <Field name="Kinds of alarm" hint="Separated by commas; empty is all.">
          <input className="input" value={kinds} onChange={(event) => setKinds(event.target.value)} />
        </Field>
        <FormActions error={make.error} onClose={onClose} disabled={make.isPending || !url.trim()}>
          Create webhook
        </FormActions>
      </form>
    </Dialog>
  );
}
