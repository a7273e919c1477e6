"use client";

import * as Dialog from "@radix-ui/react-dialog";
import { Command } from "cmdk";
import { useRef, useState } from "react";
import { useViews } from "@/features/jobs/saved-views";
import { go, jobHref, jobsHref, machineHref, queueHref, scheduleHref } from "@/lib/address";
import { STATES } from "@/lib/lifecycle.gen";
import { useMachines } from "@/lib/machines";
import { useList } from "@/lib/paged-list";
import { useTheme } from "@/lib/theme";
import { useZone } from "@/lib/time";
import { visibleLine } from "@/lib/visible-text";
import { useReturnFocus } from "@/ui/dialog";
import { Icon } from "@/ui/icon";
import { PAGES } from "./pages";
import { search } from "./search";

type Entry = { name: string; run: () => void };

type Props = {
  typed: string;
  onType: (typed: string) => void;
  onClose: () => void;
  onEnqueue?: () => void;
};

/** Everything one can go to or do, by typing a part of its name. */
export function Palette({ typed, onType, onClose, onEnqueue }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const returnFocus = useReturnFocus();
  const groups = useEntries(typed.trim(), onEnqueue);
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className="sheet sheet-high"
          aria-describedby={undefined}
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            field.current?.focus();
            field.current?.setSelectionRange(typed.length, typed.length); // after what was typed already
          }}
          onCloseAutoFocus={returnFocus}
        >
          <Dialog.Title className="sr-only">Go to or do</Dialog.Title>
          <Command loop>
            <div className="flex items-center gap-2 border-b px-4 text-muted">
              <Icon name="search" />
              <Command.Input
                ref={field}
                value={typed}
                onValueChange={onType}
                placeholder="Go to a page, a job's number, an action, a queue…"
                aria-label="Go to or do"
                className="h-12 flex-1 bg-transparent text-14 text-ink outline-none"
              />
            </div>
            <Command.List className="max-h-[50dvh] overflow-y-auto p-2">
              <Command.Empty className="p-4 text-center text-13 text-muted">
                Nothing has this name.
              </Command.Empty>
              {groups.map(([heading, entries, always]) => (
                <Command.Group key={heading} heading={heading} className="palette-group" forceMount={always}>
                  {entries.map((entry) => (
                    <Command.Item
                      key={entry.name}
                      value={`${heading} ${entry.name}`}
                      forceMount={always}
                      className="menu-item"
                      onSelect={() => {
                        onClose();
                        entry.run();
                      }}
                    >
                      {visibleLine(entry.name)}
                    </Command.Item>
                  ))}
                </Command.Group>
              ))}
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** The groups of entries; the last value says which stand there whatever was typed. */
function useEntries(typed: string, onEnqueue?: () => void): [string, Entry[], boolean][] {
  const [views] = useViews();
  const [theme, setTheme] = useTheme();
  const [zone, setZone] = useZone();
  const machines = useMachines().data?.machines ?? [];
  const queues = useList("queues", "/api/queues", {}).query.data?.queues ?? [];
  const schedules = useList("schedules", "/api/schedules", {}).query.data?.schedules ?? [];
  const to = (name: string, href: string): Entry => ({ name, run: () => go(href) });
  const [actions] = useState(pageActions);
  const other = theme === "dark" ? "light" : "dark";
  const groups: [string, Entry[], boolean][] = [];
  const isNumber = /^\d+$/.test(typed);
  if (isNumber) groups.push(["Job", [to(`Open job ${typed}`, jobHref(typed))], true]);
  groups.push(
    ["On this page", actions, false],
    ["Pages", PAGES.map((page) => to(page.name, page.href)), false],
    ["Views", views.map((view) => to(view.name, `/jobs/?${view.search}`)), false],
    ["Jobs", STATES.map((state) => to(`Jobs ${state}`, jobsHref({ state }))), false],
    ["Machines", machines.map((each) => to(each.name, machineHref(each.name))), false],
    ["Queues", queues.map((each) => to(each.name, queueHref(each.name))), false],
    ["Schedules", schedules.map((each) => to(each.name, scheduleHref(each.name))), false],
    [
      "Do",
      [
        ...(onEnqueue ? [{ name: "Enqueue a job", run: onEnqueue }] : []),
        { name: `Use the ${other} theme`, run: () => setTheme(other) },
        zone === "utc"
          ? { name: "Show times in your time zone", run: () => setZone("local") }
          : { name: "Show times in UTC", run: () => setZone("utc") },
      ],
      false,
    ],
  );
  // Last, so that Enter does what has the name that was typed, and searches if nothing has.
  if (typed && !isNumber)
    groups.push(["Search", [{ name: `Jobs that match ${typed}`, run: () => void search(typed, "") }], true]);
  return groups.filter(([, entries]) => entries.length > 0);
}

/** The buttons and links beside the title of the page that is open, but those that open a menu. */
function pageActions(): Entry[] {
  const found = document.querySelectorAll<HTMLElement>(
    "[data-page-actions] :is(a, button:not(:disabled, [aria-haspopup=menu]))",
  );
  return [...found].map((action) => ({ name: action.textContent?.trim() ?? "", run: () => action.click() }));
}
