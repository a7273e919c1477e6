"use client";

import * as Menu from "@radix-ui/react-dropdown-menu";
import { useState } from "react";
import { go, useAddress } from "@/lib/address";
import { State } from "@/lib/lifecycle.gen";
import { useStored } from "@/lib/local-storage";
import { Dialog, FormActions } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { Icon } from "@/ui/icon";

export type View = { name: string; search: string };

const GIVEN: readonly View[] = [
  { name: "Failed", search: `state=${State.failed}` },
  { name: "Waiting for a signal", search: `state=${State.waiting}` },
];

/** The filters that were given a name, kept in this browser. */
const NONE: View[] = [];
export const useViews = () => useStored<View[]>("views", NONE);

export function SavedViews() {
  const { params } = useAddress();
  const [views, setViews] = useViews();
  const [naming, setNaming] = useState(false);
  const search = withoutCursor(params.toString());
  const open = (view: View) => go(`/jobs/?${view.search}`);
  return (
    <>
      <Menu.Root modal={false}>
        <Menu.Trigger className="button">
          Views
          <Icon name="down" size={14} />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Content className="menu" align="end" sideOffset={4}>
            {[...GIVEN, ...views].map((view) => (
              <Menu.Item key={view.name} className="menu-item" onSelect={() => open(view)}>
                {view.name}
              </Menu.Item>
            ))}
            <Menu.Separator className="my-1 border-t" />
            <Menu.Item className="menu-item" disabled={!search} onSelect={() => setNaming(true)}>
              Save this filter…
            </Menu.Item>
            {views
              .filter((view) => view.search === search)
              .map((view) => (
                <Menu.Item
                  key={view.name}
                  className="menu-item tone tone-red"
                  onSelect={() => setViews(views.filter((each) => each !== view))}
                >
                  Remove “{view.name}”
                </Menu.Item>
              ))}
          </Menu.Content>
        </Menu.Portal>
      </Menu.Root>
      {naming && (
        <NameView
          onClose={() => setNaming(false)}
          onName={(name) => {
            setViews([...views.filter((view) => view.name !== name), { name, search }]);
            setNaming(false);
          }}
        />
      )}
    </>
  );
}

function NameView({ onName, onClose }: { onName: (name: string) => void; onClose: () => void }) {
  const [name, setName] = useState("");
  return (
    <Dialog title="Save this filter" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim()) onName(name.trim());
        }}
      >
        <Field name="Name" hint="It is kept in this browser.">
          <input className="input" value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <FormActions onClose={onClose} disabled={!name.trim()}>
          Save view
        </FormActions>
      </form>
    </Dialog>
  );
}

function withoutCursor(search: string): string {
  const params = new URLSearchParams(search);
  params.delete("cursor");
  return params.toString();
}
