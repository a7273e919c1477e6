"use client";

import { useSyncExternalStore } from "react";

/** Where the service is mounted: "" at the root, "/kairos" under a prefix. The service writes it into the page. */
export function base(): string {
  if (typeof document === "undefined") return "";
  const meta = document.querySelector<HTMLMetaElement>('meta[name="kairos-base"]');
  return (meta?.content ?? "").replace(/\/+$/, "");
}

/** The base path for rendering: the exported page does not know it, so it is set after hydration. */
export const useBase = () => useSyncExternalStore(never, base, () => "");

const never = () => () => {};

/** A path of the address bar as the dashboard names it. */
export function withoutBase(path: string, prefix: string): string {
  return prefix && path.startsWith(prefix) ? path.slice(prefix.length) || "/" : path;
}
