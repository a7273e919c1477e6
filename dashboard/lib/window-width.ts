"use client";

import { useSyncExternalStore } from "react";

/** Whether the window is at least so many pixels wide. */
export function useWide(pixels: number): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = matchMedia(`(min-width: ${pixels}px)`);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => matchMedia(`(min-width: ${pixels}px)`).matches,
    () => true,
  );
}
