"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { part, post, remove } from "@/lib/api";
import type { Key, NewKey as Made } from "@/lib/documents";
import { useList } from "@/lib/list";
import { Answer, Empty } from "@/ui/answer";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { More } from "@/ui/more";
import { Panel } from "@/ui/panel";
import { Time } from "@/ui/time";
import { useToast } from "@/ui/toast";
import { SecretDialog } from "./secret";

const SCOPES = { read: "look", enqueue: "look and enqueue", operate: "cancel, retry, pause and schedule too", admin: "everything, keys included" };

export function Keys() {
  const client = useQueryClient();
  const say = useToast();
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const list = useList<Key, "keys">("keys", "/api/keys");
  const again = () => client.invalidateQueries({ queryKey: ["keys"] });
  const revoke = useMutation({
    mutationFn: (key: Key) => remove(`/api/keys/${part(key.id)}`),
    onSuccess: (_, key) => { setRevoking(null); say(`The key ${key.name} is revoked.`); return again(); },
  });
  return (
    <>
      <Panel title="Keys" flush aside={<button type="button" className="button button-small" onClick={() => setAdding(true)}>New key</button>}>
        <Answer query={list.query}>
          {({ keys }) => keys.length === 0 ? <Empty title="There are no keys.">Without one, the service answers only on this machine.</Empty> : (
            <div className="overflow-x-auto">
              <table className="table table-stack table-middle">
                <thead><tr><th scope="col">Name</th><th scope="col">Scopes</th><th scope="col" className="number">Made</th><th scope="col" className="number">Last used</th><th scope="col" className="number">Ends</th><th scope="col"><span className="sr-only">Actions</span></th></tr></thead>
                <tbody>{keys.map((key) => (
                  <tr key={key.id}>
                    <td className="whole font-medium"><span className="break-all">{key.name}</span> <code className="text-12 font-normal text-muted">{key.id}</code></td>
                    <td className="text-muted">{key.scopes.join(", ")}</td>
                    <td className="number text-muted" data-label="made"><Time at={key.createdAt} /></td>
                    <td className="number text-muted" data-label="used"><Time at={key.lastUsedAt} empty="never" /></td>
                    <td className="number text-muted">{key.revokedAt ? <span className="tone tone-red">revoked <Time at={key.revokedAt} /></span> : <Time at={key.expiresAt} empty="never ends" />}</td>
                    <td className="number">{!key.revokedAt && <button type="button" className="button button-small button-danger" aria-label={`Revoke ${key.name}`} onClick={() => setRevoking(key)}>Revoke</button>}</td>
                  </tr>
                ))}</tbody>
              </table>
            </div>
          )}
        </Answer>
        <More list={list} />
      </Panel>
      {adding && <NewKey onClose={() => setAdding(false)} onMade={(key) => { setAdding(false); setMade(key); void again(); }} />}
      {made && <SecretDialog title={`The key ${made.name}`} secret={made.secret} onClose={() => setMade(null)} />}
      {revoking && (
        <Dialog title={`Revoke ${revoking.name}`} onClose={() => setRevoking(null)}>
          <p className="text-13 text-muted">Whoever uses it is refused from now on, and its sessions end.</p>
          <DialogActions error={revoke.error}>
            <button type="button" className="button" onClick={() => setRevoking(null)}>Keep it</button>
            <button type="button" className="button button-danger" disabled={revoke.isPending} onClick={() => revoke.mutate(revoking)}>Revoke the key</button>
          </DialogActions>
        </Dialog>
      )}
    </>
  );
}

function NewKey({ onClose, onMade }: { onClose: () => void; onMade: (key: Made) => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState("read");
  const make = useMutation({ mutationFn: () => post<{ key: Made }>("/api/keys", { name: name.trim(), scopes: [scope] }), onSuccess: ({ key }) => onMade(key) });
  return (
    <Dialog title="New key" onClose={onClose}>
      <form className="flex flex-col gap-4" onSubmit={(event) => { event.preventDefault(); make.mutate(); }}>
        <Field name="Name" hint="Who or what will use it."><input className="input" required value={name} onChange={(event) => setName(event.target.value)} /></Field>
        <Field name="Scope"><select className="input" value={scope} onChange={(event) => setScope(event.target.value)}>{Object.entries(SCOPES).map(([each, meaning]) => <option key={each} value={each}>{each}: {meaning}</option>)}</select></Field>
        <DialogActions error={make.error}>
          <button type="button" className="button" onClick={onClose}>Close</button>
          <button type="submit" className="button button-primary" disabled={make.isPending || !name.trim()}>Make the key</button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
