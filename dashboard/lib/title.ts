"use client";

import { useEffect } from "react";
import { visibleLine } from "./visible-text";

/** Names the browser's tab after what the page shows. */
export function useTitle(title: string | null) {
  useEffect(() => {
    if (title) document.title = `${visibleLine(title)} · Kairos`;
  }, [title]);
}
