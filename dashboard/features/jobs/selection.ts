"use client";

import { useRef, useState } from "react";
import type { Job } from "@/lib/documents";

const NONE: ReadonlyMap<string, Job> = new Map();

export type Selection = {
  jobs: Job[];
  has: (job: Job) => boolean;
  /** Selects a row, or lets it go; with `through`, all from the last one touched do as it does. */
  toggle: (job: Job, through?: boolean) => void;
  all: (on: boolean) => void;
  clear: () => void;
};

/** The rows that are selected. One that newer jobs push off the page stays so; another page begins with none. */
export function useSelection(rows: { readonly current: readonly Job[] }, page: string): Selection {
  const shown = rows.current;
  const [kept, setKept] = useState({ page, jobs: NONE });
  const last = useRef("");
  const selected = kept.page === page ? kept.jobs : NONE;
  const asShown = new Map(shown.map((job) => [String(job.id), job]));

  const mark = (rows: readonly Job[], on: boolean) => {
    const jobs = new Map(selected);
    for (const job of rows) {
      if (on) jobs.set(String(job.id), job);
      else jobs.delete(String(job.id));
    }
    setKept({ page, jobs });
  };
  return {
    jobs: [...selected].map(([id, job]) => asShown.get(id) ?? job),
    has: (job) => selected.has(String(job.id)),
    toggle: (job, through = false) => {
      const [from, to] = [last.current, String(job.id)].map((id) =>
        shown.findIndex((each) => String(each.id) === id),
      ) as [number, number];
      last.current = String(job.id);
      mark(
        through && from >= 0 ? shown.slice(Math.min(from, to), Math.max(from, to) + 1) : [job],
        !selected.has(String(job.id)),
      );
    },
    all: (on) => mark(shown, on),
    clear: () => setKept({ page, jobs: NONE }),
  };
}
