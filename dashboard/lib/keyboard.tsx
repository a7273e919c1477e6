"use client";

import { useEffect, useRef, useState } from "react";

/** A handler that answers `false` leaves the key to the browser. */
type Handler = (event: KeyboardEvent) => unknown;

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  target.getAttribute("type") !== "checkbox" &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Gives the focus to the content of the page, from where Tab, j and k go on. */
export const focusContent = () => document.getElementById("main")?.focus({ preventScroll: true });

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

/**
 * The row that j and k move over, by its name, so that it stays with it when others come. It has the focus, so that
 * Enter opens it and nothing else; a row that gets the focus otherwise is the current one as well.
 */
export function useRows(rows: readonly string[], open: (row: string) => void) {
  const [current, setCurrent] = useState<string | null>(null);
  const move = (by: number) => {
    const next = moved(rows, current, by);
    setCurrent(next);
    if (next === null) return;
    const row = document.querySelectorAll("[data-row]")[rows.indexOf(next)];
    row?.scrollIntoView({ block: "nearest" });
    linkOf(row)?.focus({ preventScroll: true });
  };
  const arrow = (by: number) => (event: KeyboardEvent) => (rowOf(event.target) ? move(by) : false);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: arrow(1),
    ArrowUp: arrow(-1),
    Enter: (event) => {
      // A focused link or button answers Enter by itself.
      if (event.target instanceof HTMLElement && event.target.closest(ITS_OWN)) return false;
      if (current === null || !rows.includes(current)) return false;
      open(current);
    },
  });
  const order = rows.join("\n");
  // Rows of the document are places: when others come, the focus goes with the current row to its new place.
  useEffect(() => {
    const row = rowOf(document.activeElement);
    const there = document.querySelectorAll("[data-row]")[current === null ? -1 : rows.indexOf(current)];
    if (row && there && row !== there) linkOf(there)?.focus({ preventScroll: true });
  }, [order]);
  const latest = useRef(rows);
  latest.current = rows;
  useEffect(() => {
    const follow = ({ target }: FocusEvent) => {
      const place = [...document.querySelectorAll("[data-row]")].indexOf(rowOf(target) as Element);
      if (place >= 0) setCurrent(latest.current[place] ?? null);
    };
    document.addEventListener("focusin", follow);
    return () => document.removeEventListener("focusin", follow);
  }, []);
  return {
    current: current !== null && rows.includes(current) ? current : null,
    clear: () => setCurrent(null),
  };
}

const rowOf = (target: EventTarget | null) =>
  target instanceof Element ? target.closest("[data-row]") : null;
const linkOf = (row: Element | null | undefined) => row?.querySelector<HTMLElement>("a[href]");
