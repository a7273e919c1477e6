"use client";

import { useQuery } from "@tanstack/react-query";
import { get } from "./api";
import type { Machine } from "./documents";
import { useSession } from "./session";

/** Whether an action has more than one step: only then is the name of a step news. */
export function useHasSteps(): (action: string) => boolean {
  const enabled = !!useSession();
  const { data } = useQuery({ queryKey: ["machines"], queryFn: () => get<{ machines: Machine[] }>("/api/machines"), enabled, staleTime: 10_000 });
  const plain = new Set(data?.machines.filter((machine) => machine.steps.length === 1).map((machine) => machine.name));
  return (action) => data !== undefined && !plain.has(action);
}
