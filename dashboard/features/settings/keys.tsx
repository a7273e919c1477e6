"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post, remove } from "@/lib/api";
import type { Key, NewKey as Made } from "@/lib/documents";
import { useList } from "@/lib/paged-list";
import { keys } from "@/lib/query-keys";
import { visibleLine } from "@/lib/visible-text";
import { Empty } from "@/ui/answer";
import { Confirm, Dialog, FormActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { Panel } from "@/ui/panel";
import { ACTIONS, ListTable, number } from "@/ui/table";
import { Time } from "@/ui/time";
import { useToast } from "@/ui/toast";
import { SecretDialog } from "./secret";

const SCOPES = {
  read: "look",
  enqueue: "look and enqueue",
  operate: "cancel, retry, pause and schedule too",
  admin: "everything, keys included",
};

export function Keys() {
  const client = useQueryClient();
  const say = useToast();
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const list = useList("keys", "/api/keys", {});
  const again = () => client.invalidateQueries({ queryKey: keys.accessKeys });
  const revoke = useMutation({
    mutationFn: (key: Key) => remove("/api/keys/{id}", { path: { id: key.id } }),
    onSuccess: (_, key) => {
      setRevoking(null);
      say(`The key ${key.name} is revoked.`);
      return again();
    },
  });
  return (
    <>
      <Panel
        title="Keys"
        flush
        aside={
          <button type="button" className="button button-small" onClick={() => setAdding(true)}>
            New key
          </button>
        }
      >
        <ListTable
          list={list}
          name="keys"
          empty={
            <Empty title="There are no keys.">Without one, the service answers only on this machine.</Empty>
          }
          className="table-stack table-middle"
          columns={["Name", "Scopes", number("Created"), number("Last used"), number("Expires"), ACTIONS]}
        >
          {(key) => (
            <tr key={key.id}>
              <td className="whole font-medium">
                <span className="break-all">{visibleLine(key.name)}</span>{" "}
                <code className="text-12 font-normal text-muted">{key.id}</code>
              </td>
              <td className="text-muted">{key.scopes.join(", ")}</td>
              <td className="number text-muted" data-label="created">
                <Time at={key.createdAt} />
              </td>
              <td className="number text-muted" data-label="used">
                <Time at={key.lastUsedAt} empty="never" />
              </td>
              <td className="number text-muted" data-label={key.revokedAt ? undefined : "expires"}>
                {key.revokedAt ? (
                  <span className="tone tone-red">
                    revoked <Time at={key.revokedAt} />
                  </span>
                ) : (
                  <Time at={key.expiresAt} empty="never" />
                )}
              </td>
              <td className="number">
                {!key.revokedAt && (
                  <button
                    type="button"
                    className="button button-small button-danger"
                    aria-label={`Revoke ${key.name}`}
                    onClick={() => setRevoking(key)}
                  >
                    Revoke
                  </button>
                )}
              </td>
            </tr>
          )}
        </ListTable>
      </Panel>
      {adding && (
        <NewKey
          onClose={() => setAdding(false)}
          onMade={(key) => {
            setAdding(false);
            setMade(key);
            void again();
          }}
        />
      )}
      {made && (
        <SecretDialog
          title={`The key ${made.name}`}
          secret={made.secret}
          kept="Kairos keeps only its hash."
          onClose={() => setMade(null)}
        />
      )}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}`}
          label="Revoke the key"
          onConfirm={() => revoke.mutate(revoking)}
          onClose={() => setRevoking(null)}
          pending={revoke.isPending}
          error={revoke.error}
        >
          Requests with this key are refused from now on, and its sessions end.
        </Confirm>
      )}
    </>
  );
}

function NewKey({ onClose, onMade }: { onClose: () => void; onMade: (key: Made) => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<keyof typeof SCOPES>("read");
  const make = useMutation({
    mutationFn: () => post("/api/keys", { body: { name: name.trim(), scopes: [scope] } }),
    onSuccess: ({ key }) => onMade(key),
  });
  return (
    <Dialog title="New key" onClose={onClose}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        <Field name="Name" hint="Who or what will use it.">
          <input className="input" required value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field name="Scope">
          <select
            className="input"
            value={scope}
            onChange={(event) => setScope(event.target.value as keyof typeof SCOPES)}
          >
            {Object.entries(SCOPES).map(([each, meaning]) => (
              <option key={each} value={each}>
                {each}: {meaning}
              </option>
            ))}
          </select>
        </Field>
        <FormActions error={make.error} onClose={onClose} disabled={make.isPending || !name.trim()}>
          Create key
        </FormActions>
      </form>
    </Dialog>
  );
}
