"use client";

import { useSearchParams } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { type Found, parseFound } from "@/features/jobs/filter";
import { go, jobHref, usePath } from "@/lib/address";
import { get } from "@/lib/api";
import { focusContent, useKeys } from "@/lib/keyboard";
import { Icon } from "@/ui/icon";

const JOBS = "/jobs/";

/** Finds jobs by what they were called with, by text or by a filter's name (`tag:vip`); a number opens that job. */
export function Search() {
  const path = usePath();
  const inUrl = useSearchParams().get("text") ?? "";
  const [text, setText] = useState(inUrl);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setText(path === JOBS ? inUrl : ""), [inUrl, path]);
  useKeys({ "/": () => field.current?.focus() });

  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    const wanted = text.trim();
    if (/^\d+$/.test(wanted)) return go(jobHref(wanted));
    void search(wanted, path === JOBS ? window.location.search : "").then(() => {
      setText("");
      focusContent();
    });
  };

  return (
    <form role="search" onSubmit={submit} className="relative w-full max-w-[27rem] min-w-0">
      <button
        type="submit"
        aria-label="Search"
        className="absolute top-0 left-0 grid size-8 place-items-center text-muted hover:text-ink"
      >
        <Icon name="search" />
      </button>
      <input
        ref={field}
        type="search"
        className="input pr-2 pl-8 text-ellipsis sm:pr-8"
        placeholder="Search: a@example.com, tag:vip, error text"
        aria-label="Search jobs"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && field.current?.blur()}
      />
      <kbd className="pointer-events-none absolute top-1.5 right-2 hidden rounded border border-strong bg-sunk px-1.5 text-12 leading-[18px] text-muted sm:block">
        /
      </kbd>
    </form>
  );
}

/** Goes to the jobs that were typed for, among those that the filters in the address let through. */
export const search = async (typed: string, before: string) =>
  go(JOBS + asSearch(await parseFound(typed, hasJobs), before));

/** What was searched for, added to the filters that are already in the address. */
export function asSearch(found: Found, before: string): string {
  const params = new URLSearchParams(before);
  params.delete("cursor");
  params.delete("text");
  for (const [name, value] of Object.entries(found)) {
    params.delete(name);
    for (const each of Array.isArray(value) ? value : [value]) if (each) params.append(name, each);
  }
  return params.size ? `?${params}` : "";
}

/** Whether some job passes this filter; where the service refuses it, none does. */
const hasJobs = (filter: Found) =>
  get("/api/jobs", { query: { ...filter, limit: 1 } }).then(
    ({ jobs }) => jobs.length > 0,
    () => false,
  );
