"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import type { Counts } from "@/lib/documents";
import { count } from "@/lib/format";
import { LOOKS, TERMINAL } from "@/lib/lifecycle.gen";
import { useMaybeSignedIn } from "@/lib/session";
import { now, span } from "@/lib/time";
import { Answer } from "@/ui/answer";
import { Panel } from "@/ui/panel";
import { Plot } from "@/ui/plot";

const RANGES = { "1h": [3600, 60], "6h": [21_600, 360], "24h": [86_400, 1800], "7d": [604_800, 10_800] } as const;
type Range = keyof typeof RANGES;
const PERCENTILES = [["p50", undefined], ["p95", "5 3"], ["p99", "1.5 3"]] as const;

/** The numbers behind the plots, and over which time. */
export function useSeries() {
  const { params } = useAddress();
  const enabled = useMaybeSignedIn();
  const wanted = params.get("range") as Range;
  const range: Range = wanted in RANGES ? wanted : "1h";
  const [length, step] = RANGES[range];
  const query = useQuery({
    queryKey: ["series", range],
    queryFn: () => {
      const to = Math.ceil(now() / 1000 / step) * step;
      const at = (seconds: number) => new Date(seconds * 1000).toISOString();
      return get<{ series: Counts[] }>("/api/stats/series", { from: at(to - length), to: at(to), step });
    },
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
    enabled,
  });
  return { range, query };
}

/** Throughput by how jobs ended, and how long they waited and ran. */
export function Plots() {
  const { change } = useAddress();
  const { range, query } = useSeries();
  const time = (at: string) => new Date(at).toLocaleString("en-GB", range === "7d" ? { weekday: "short", hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit" });
  const choose = (
    <span role="group" aria-label="Range" className="flex gap-1">
      {(Object.keys(RANGES) as Range[]).map((each) => <button key={each} type="button" aria-pressed={each === range} className={`button button-small ${each === range ? "bg-sunk text-ink" : "button-bare text-muted"}`} onClick={() => change({ range: each === "1h" ? null : each })}>{each}</button>)}
    </span>
  );
  return (
    <div className="grid gap-6 xl:grid-cols-3">
      <Panel title="Ended" aside={choose}>
        <Sized><Answer query={query} rows={5}>{({ series }) => (
          <Plot label="Jobs that ended, over time" kind="bars" times={series.map((bucket) => bucket.at)} format={(value) => count(Math.round(value * 10) / 10)} time={time}
            series={TERMINAL.map((state) => ({ name: state, color: `var(--${LOOKS[state].tone})`, values: series.map((bucket) => bucket[state as keyof Counts] as number) }))} />
        )}</Answer></Sized>
      </Panel>
      {(["wait", "run"] as const).map((what) => (
        <Panel key={what} title={what === "wait" ? "Waited before it ran" : "Ran for"}>
          <Sized><Answer query={query} rows={5}>{({ series }) => (
            <Plot label={`${what} times, over time`} kind="lines" times={series.map((bucket) => bucket.at)} format={(value) => (value === 0 ? "0" : span(value))} time={time}
              series={PERCENTILES.map(([name, dash]) => ({ name, dash, color: "var(--ink)", values: series.map((bucket) => bucket[what][name]) }))} />
          )}</Answer></Sized>
        </Panel>
      ))}
    </div>
  );
}

/** Keeps the place of a plot that is not there yet. */
const Sized = ({ children }: { children: React.ReactNode }) => <div className="min-h-[196px]">{children}</div>;
