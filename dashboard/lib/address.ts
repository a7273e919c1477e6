"use client";

import { usePathname, useSearchParams } from "next/navigation";
import { useCallback } from "react";
import { base, withoutBase } from "./base-path";

/**
 * Goes to another page of the dashboard without asking the service for it: pages are code that is already here, so
 * a lost connection never ends on the browser's own error page.
 */
export function go(href: string, how: "push" | "replace" = "push") {
  const before = openPage();
  window.history[how === "push" ? "pushState" : "replaceState"](null, "", base() + href);
  if (openPage() !== before) window.scrollTo(0, 0);
}

const pageOf = (path: string, params: URLSearchParams) =>
  [path, params.get("id") ?? "", params.get("name") ?? ""].join("?");
/** Which page is open: its path and, on the page of one thing, which thing. Filters and tabs make no other page. */
export const openPage = () => pageOf(window.location.pathname, new URLSearchParams(window.location.search));
/** The same, as it changes. */
export const useOpenPage = () => pageOf(usePathname(), useSearchParams());

/** The path of the page, without the prefix it is mounted under. */
export const usePath = () => withoutBase(usePathname(), base());

/** The page's parameters, kept in its URL: a link shows the same thing to another person. */
export function useAddress() {
  const params = useSearchParams();
  const path = usePath();
  const change = useCallback(
    (changes: Record<string, string | readonly string[] | null>, how: "push" | "replace" = "replace") => {
      const next = new URLSearchParams(window.location.search);
      for (const [name, value] of Object.entries(changes)) {
        next.delete(name);
        if (value === null || value === "") continue;
        if (typeof value === "string") next.set(name, value);
        else for (const each of value) next.append(name, each);
      }
      const text = next.toString();
      go(text ? `${path}?${text}` : path, how);
    },
    [path],
  );
  return { params, change };
}

export const jobHref = (id: number | bigint | string) => `/job/?id=${encodeURIComponent(String(id))}`;
export const machineHref = (name: string) => `/machine/?name=${encodeURIComponent(name)}`;
export const scheduleHref = (name: string) => `/schedule/?name=${encodeURIComponent(name)}`;
export const workerHref = (id: string) => `/worker/?id=${encodeURIComponent(id)}`;
export const queueHref = (name: string) => `/queue/?name=${encodeURIComponent(name)}`;
export const jobsHref = (filter: Record<string, string>) => `/jobs/?${new URLSearchParams(filter)}`;
