"use client";

import { usePathname, useRouter, useSearchParams } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { jobHref } from "@/lib/address";
import { useKeys } from "@/lib/keyboard";
import { Icon } from "@/ui/icon";

const JOBS = "/jobs/";

/** Finds jobs by text; a number opens that job. */
export function Search() {
  const router = useRouter();
  const path = usePathname();
  const inUrl = useSearchParams().get("text") ?? "";
  const [text, setText] = useState(inUrl);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setText(path === JOBS ? inUrl : ""), [inUrl, path]);
  useKeys({ "/": () => field.current?.focus() });

  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    const wanted = text.trim();
    if (/^\d+$/.test(wanted)) return router.push(jobHref(wanted));
    const params = new URLSearchParams(path === JOBS ? window.location.search : "");
    params.delete("cursor");
    params.delete("text");
    if (wanted) params.set("text", wanted);
    router.push(`${JOBS}${params.size ? `?${params}` : ""}`);
  };

  return (
    <form role="search" onSubmit={submit} className="relative w-full max-w-80 min-w-0">
      <span className="pointer-events-none absolute top-2 left-2 text-muted"><Icon name="search" /></span>
      <input ref={field} type="search" className="input pr-2 pl-8 text-ellipsis sm:pr-8" placeholder="Search jobs, or a job's number" aria-label="Search jobs" value={text}
        onChange={(event) => setText(event.target.value)} onKeyDown={(event) => event.key === "Escape" && field.current?.blur()} />
      <kbd aria-hidden="true" className="pointer-events-none absolute top-1.5 right-2 hidden rounded border border-strong bg-sunk px-1.5 text-12 leading-[18px] text-muted sm:block">/</kbd>
    </form>
  );
}
