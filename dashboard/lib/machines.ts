"use client";

import { useQuery } from "@tanstack/react-query";
import { readPages } from "./paged-list";
import { keys } from "./query-keys";
import { useMaybeSignedIn } from "./session";

// Forms offer every action by name, so all pages are read; this many are five thousand machines.
const PAGES = 10;

/** Every machine that is known. */
export function useMachines() {
  const enabled = useMaybeSignedIn();
  return useQuery({
    queryKey: keys.machines,
    queryFn: ({ signal }) => readPages("machines", "/api/machines", {}, PAGES, signal),
    enabled,
    staleTime: 10_000,
  });
}

/** Whether an action has more than one step: only then is the name of a step news. */
export function useHasSteps(): (action: string) => boolean {
  const { data } = useMachines();
  const plain = new Set(
    data?.machines.filter((machine) => machine.steps.length === 1).map((machine) => machine.name),
  );
  return (action) => data !== undefined && !plain.has(action);
}
