"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";
import { now, zone } from "@/lib/time";

export const RANGES = {
  "1h": [3600, 60],
  "6h": [21_600, 360],
  "24h": [86_400, 1800],
  "7d": [604_800, 10_800],
} as const;
export type Range = keyof typeof RANGES;

/** Whose jobs are counted: all, or those of one action, queue or schedule. */
export type Scope = { action?: string; queue?: string; schedule?: string };
export const EVERYTHING: Scope = {};

/** The numbers behind the plots, and over which time. */
export function useSeries(scope: Scope) {
  const { params } = useAddress();
  const enabled = useMaybeSignedIn();
  const wanted = params.get("range") as Range;
  const range: Range = wanted in RANGES ? wanted : "1h";
  const [length, step] = RANGES[range];
  const query = useQuery({
    queryKey: keys.series(scope, range),
    queryFn: () => {
      const to = Math.ceil(now() / 1000 / step) * step;
      const at = (seconds: number) => new Date(seconds * 1000).toISOString();
      return get("/api/stats/series", {
        query: {
          ...scope,
          from: at(to - length),
          to: at(to),
          step,
        },
      });
    },
    placeholderData: keepPreviousData,
    refetchInterval: step * 1000, // the bars move on with the time, also where nothing happens
    enabled,
  });
  return { range, query };
}

/** The time under a bar, as short as the range allows. */
export const timeOf = (range: Range) => (at: string) =>
  new Date(at).toLocaleString("en-GB", {
    ...(range === "7d" ? { weekday: "short" } : {}),
    hour: "2-digit",
    minute: "2-digit",
    timeZone: zone(),
  });
