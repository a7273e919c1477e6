"use client";

import { Dialog } from "@/ui/dialog";
import { PAGES } from "./pages";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "Search jobs"],
  ["⌘K", "Go to or do anything"],
  ["j ↓", "Next row"],
  ["k ↑", "Previous row"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
  ["X", "Select up to the row"],
  ["c", "Enqueue a job"],
  ["?", "This help"],
  ["Esc", "Close"],
];

export function Help({ onClose }: { onClose: () => void }) {
  const rows = [...KEYS, ...PAGES.map((page) => [`g ${page.key}`, page.name] as const)];
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="grid gap-x-8 gap-y-2 text-13 sm:grid-cols-2">
        {rows.map(([keys, meaning]) => (
          <div key={keys} className="flex items-center justify-between gap-4">
            <dt>{meaning}</dt>
            <dd className="flex gap-1">
              {keys.split(" ").map((key) => (
                <kbd key={key} className="rounded border border-strong bg-sunk px-1.5 text-12">
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
