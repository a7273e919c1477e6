"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import Link from "next/link";
import { useState } from "react";
import { jobHref } from "@/lib/address";
import { part, patch, post, remove } from "@/lib/api";
import type { NewWebhook as Made, Webhook } from "@/lib/documents";
import { useList } from "@/lib/list";
import { Answer, Empty } from "@/ui/answer";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { More } from "@/ui/more";
import { Panel } from "@/ui/panel";
import { Time } from "@/ui/time";
import { useToast } from "@/ui/toast";
import { SecretDialog } from "./secret";

export function Webhooks() {
  const client = useQueryClient();
  const say = useToast();
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const [removing, setRemoving] = useState<Webhook | null>(null);
  const list = useList<Webhook, "webhooks">("webhooks", "/api/webhooks");
  const again = () => client.invalidateQueries({ queryKey: ["webhooks"] });
  const act = useMutation({
    mutationFn: ({ hook, verb }: { hook: Webhook; verb: "test" | "pause" | "resume" | "delete" }) => {
      const path = `/api/webhooks/${part(hook.id)}`;
      if (verb === "test") return post(`${path}/test`, {});
      return verb === "delete" ? remove(path) : patch(path, { paused: verb === "pause" });
    },
    onSuccess: (_, { verb }) => { setRemoving(null); say(verb === "test" ? "A test alarm is on its way; its delivery is a job." : `Webhook: ${verb} is done.`); return again(); },
    onError: (error) => say(error.message, true),
  });
  return (
    <>
      <Panel title="Webhooks" flush aside={<button type="button" className="button button-small" onClick={() => setAdding(true)}>New webhook</button>}>
        <Answer query={list.query}>
          {({ webhooks }) => webhooks.length === 0 ? <Empty title="No webhooks.">A webhook is told of every alarm, signed, by a job of Kairos’s own.</Empty> : (
            <ul className="divide-y text-13">{webhooks.map((hook) => (
              <li key={String(hook.id)} className="flex flex-wrap items-center justify-between gap-3 px-4 py-3">
                <span className="min-w-0"><code className="block break-all">{hook.url}</code><span className="text-12 text-muted">{hook.kinds.length ? hook.kinds.join(", ") : "all alarms"} · made <Time at={hook.createdAt} />{hook.paused && <span className="tone tone-amber"> · paused</span>}{hook.lastDelivery && <> · last told <Time at={hook.lastDelivery.at} />, <Link prefetch={false} className="link" href={jobHref(hook.lastDelivery.job)}>{hook.lastDelivery.state}</Link></>}</span></span>
                <span className="flex gap-2">
                  <button type="button" className="button button-small" disabled={act.isPending} onClick={() => act.mutate({ hook, verb: "test" })}>Test</button>
                  <button type="button" className="button button-small" disabled={act.isPending} onClick={() => act.mutate({ hook, verb: hook.paused ? "resume" : "pause" })}>{hook.paused ? "Resume" : "Pause"}</button>
                  <button type="button" className="button button-small button-danger" onClick={() => setRemoving(hook)}>Delete</button>
                </span>
              </li>
            ))}</ul>
          )}
        </Answer>
        <More list={list} />
      </Panel>
      {adding && <NewWebhook onClose={() => setAdding(false)} onMade={(hook) => { setAdding(false); setMade(hook); void again(); }} />}
      {made && <SecretDialog title="The webhook’s signing secret" secret={made.secret} onClose={() => setMade(null)} />}
      {removing && (
        <Dialog title="Delete the webhook" onClose={() => setRemoving(null)}>
          <p className="text-13 break-all text-muted">{removing.url} is no longer told of alarms.</p>
          <DialogActions><button type="button" className="button" onClick={() => setRemoving(null)}>Keep it</button><button type="button" className="button button-danger" onClick={() => act.mutate({ hook: removing, verb: "delete" })}>Delete the webhook</button></DialogActions>
        </Dialog>
      )}
    </>
  );
}

function NewWebhook({ onClose, onMade }: { onClose: () => void; onMade: (hook: Made) => void }) {
  const [url, setUrl] = useState("");
  const [kinds, setKinds] = useState("");
  const make = useMutation({
    mutationFn: () => post<{ webhook: Made }>("/api/webhooks", { url: url.trim(), kinds: kinds.split(",").map((kind) => kind.trim()).filter(Boolean) }),
    onSuccess: ({ webhook }) => onMade(webhook),
  });
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <form className="flex flex-col gap-4" onSubmit={(event) => { event.preventDefault(); make.mutate(); }}>
        <Field name="URL" hint="Alarms are sent there by POST, signed."><input className="input" type="url" required placeholder="https://example.org/alarms" value={url} onChange={(event) => setUrl(event.target.value)} /></Field>
        <Field name="Kinds of alarm" hint="Separated by commas; empty is all."><input className="input" value={kinds} onChange={(event) => setKinds(event.target.value)} /></Field>
        <DialogActions error={make.error}>
          <button type="button" className="button" onClick={onClose}>Close</button>
          <button type="submit" className="button button-primary" disabled={make.isPending || !url.trim()}>Make the webhook</button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
