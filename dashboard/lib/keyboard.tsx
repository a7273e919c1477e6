"use client";

import { useEffect, useRef, useState } from "react";

/** A handler that answers `false` leaves the key to the browser. */
type Handler = (event: KeyboardEvent) => unknown;

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  target.getAttribute("type") !== "checkbox" &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Calls the handler of a key pressed outside of fields and dialogs; two keys in turn are written "g j". */
export function useKeys(keys: Record<string, Handler>) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let first = "";
    let forget: ReturnType<typeof setTimeout> | undefined;
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey) return;
      const held = event.metaKey || event.ctrlKey;
      const name = held ? `mod+${event.key.toLowerCase()}` : event.key;
      if (document.querySelector("[role=dialog]") || (!held && typing(event.target))) return;
      const handler = (first && latest.current[`${first} ${name}`]) || latest.current[name];
      clearTimeout(forget);
      first = name;
      forget = setTimeout(() => {
        first = "";
      }, 800);
      if (handler && handler(event) !== false) event.preventDefault();
    };
    window.addEventListener("keydown", press);
    return () => {
      clearTimeout(forget);
      window.removeEventListener("keydown", press);
    };
  }, []);
}

/** Where the cursor goes from one row to another; a row that has left the list begins again at its edge. */
export function moved(rows: readonly string[], current: string | null, by: number): string | null {
  const at = current === null ? -1 : rows.indexOf(current);
  if (at < 0) return rows[by > 0 ? 0 : rows.length - 1] ?? null;
  return rows[Math.max(0, Math.min(rows.length - 1, at + by))] ?? null;
}

const ITS_OWN = "a,button,input,select,textarea,summary,[role=button],[role=menuitem]";

/** The row that j and k move over, by its name, so that it stays with it when others come; Enter opens it. */
export function useRows(rows: readonly string[], open: (row: string) => void) {
  const [current, setCurrent] = useState<string | null>(null);
  const move = (by: number) => {
    const next = moved(rows, current, by);
    setCurrent(next);
    if (next === null) return;
    document.querySelectorAll("[data-row]")[rows.indexOf(next)]?.scrollIntoView({ block: "nearest" });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: (event) => {
      // A focused link or button answers Enter by itself.
      if (event.target instanceof HTMLElement && event.target.closest(ITS_OWN)) return false;
      if (current === null || !rows.includes(current)) return false;
      open(current);
    },
  });
  return {
    current: current !== null && rows.includes(current) ? current : null,
    clear: () => setCurrent(null),
  };
}
