"use client";

import { usePathname, useRouter, useSearchParams } from "next/navigation";
import { useCallback } from "react";

/** The page's parameters, kept in its URL: a link shows the same thing to another person. */
export function useAddress() {
  const params = useSearchParams();
  const path = usePathname();
  const router = useRouter();
  const change = useCallback(
    (changes: Record<string, string | readonly string[] | null>, how: "push" | "replace" = "replace") => {
      const next = new URLSearchParams(window.location.search);
      for (const [name, value] of Object.entries(changes)) {
        next.delete(name);
        if (value === null || value === "") continue;
        if (typeof value === "string") next.set(name, value);
        else value.forEach((each) => next.append(name, each));
      }
      const text = next.toString();
      router[how](text ? `${path}?${text}` : path, { scroll: false });
    },
    [path, router],
  );
  return { params, change };
}

export const jobHref = (id: number | bigint | string) => `/job/?id=${encodeURIComponent(String(id))}`;
export const machineHref = (name: string) => `/machine/?name=${encodeURIComponent(name)}`;
export const scheduleHref = (name: string) => `/schedule/?name=${encodeURIComponent(name)}`;
export const jobsHref = (filter: Record<string, string>) => `/jobs/?${new URLSearchParams(filter)}`;
