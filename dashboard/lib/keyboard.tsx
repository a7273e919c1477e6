"use client";

import { useEffect, useRef, useState } from "react";

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.getAttribute("type") !== "checkbox" && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Calls the handler of a key pressed outside of fields and dialogs; two keys in turn are written "g j". */
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let first = "";
    let forget: ReturnType<typeof setTimeout> | undefined;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      const pair = first && latest.current[`${first} ${event.key}`];
      const handler = pair || latest.current[event.key];
      clearTimeout(forget);
      first = event.key;
      forget = setTimeout(() => { first = ""; }, 800);
      if (handler) {
        event.preventDefault();
        handler(event);
      }
    };
    window.addEventListener("keydown", press);
    return () => {
      clearTimeout(forget);
      window.removeEventListener("keydown", press);
    };
  }, []);
}

/** The row that j and k move over; Enter opens it. */
export function useRows(length: number, open: (index: number) => void) {
  const [current, setCurrent] = useState(-1);
  const move = (by: number) => {
    const next = Math.max(0, Math.min(length - 1, current + by));
    if (length === 0) return;
    setCurrent(next);
    document.querySelectorAll("[data-row]")[next]?.scrollIntoView({ block: "nearest" });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: (event) => {
      if (current >= 0 && current < length && !(event.target instanceof HTMLElement && event.target.closest("a,button,input"))) open(current);
    },
  });
  return current;
}
