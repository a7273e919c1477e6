"use client";

import { useAddress } from "@/lib/address";
import { countAxis, timeAxis } from "@/lib/axes";
import type { Counts } from "@/lib/documents";
import { count } from "@/lib/format";
import { LOOKS, State, TERMINAL } from "@/lib/lifecycle.gen";
import { span } from "@/lib/time";
import { Answer } from "@/ui/answer";
import { Panel } from "@/ui/panel";
import { Plot } from "@/ui/plot";
import { EVERYTHING, RANGES, type Range, type Scope, timeOf, useSeries } from "./series";

const PERCENTILES = [
  ["p50", undefined],
  ["p95", "5 3"],
  ["p99", "1.5 3"],
] as const;
const FAILURES = [State.failed, State.expired] as const;
const OTHER_ENDS = TERMINAL.filter((state) => !FAILURES.some((each) => each === state));

/** Throughput by how jobs ended, failures on a scale of their own, and how long jobs waited and ran. */
export function Plots({ scope = EVERYTHING }: { scope?: Scope }) {
  const { change } = useAddress();
  const { range, query } = useSeries(scope);
  const time = timeOf(range);
  const choose = (
    <span role="group" aria-label="Range" className="flex gap-1">
      {(Object.keys(RANGES) as Range[]).map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === range}
          className={`button button-small ${each === range ? "bg-sunk text-ink" : "button-bare text-muted"}`}
          onClick={() => change({ range: each === "1h" ? null : each })}
        >
          {each}
        </button>
      ))}
    </span>
  );
  const hasFailures = !!query.data && sumOf(query.data.series, FAILURES) > 0;
  const ended = (label: string, states: readonly (keyof Counts)[], empty: string) => (
    <Answer query={query} rows={5}>
      {({ series }) => (
        <Plot
          label={label}
          kind="bars"
          times={series.map((bucket) => bucket.at)}
          axis={countAxis}
          format={count}
          time={time}
          empty={empty}
          series={states.map((state) => ({
            name: state,
            color: `var(--${LOOKS[state as keyof typeof LOOKS].tone})`,
            values: series.map((bucket) => Number(bucket[state])),
          }))}
        />
      )}
    </Answer>
  );
  return (
    <div className="grid gap-4 md:grid-cols-2 2xl:grid-cols-4">
      <Panel title="Ended" aside={choose}>
        <Sized>
          {ended(
            "Jobs that ended, over time",
            OTHER_ENDS as (keyof Counts)[],
            hasFailures
              ? "Every job that ended in this window failed or expired."
              : "No job ended in this window.",
          )}
        </Sized>
      </Panel>
      <Panel title="Failed" aside={query.data && <Share series={query.data.series} />}>
        <Sized>
          {ended(
            "Jobs that failed or expired, over time",
            FAILURES,
            "No job failed or expired in this window.",
          )}
        </Sized>
      </Panel>
      {(["wait", "run"] as const).map((what) => (
        <Panel key={what} title={what === "wait" ? "Waited before running" : "Ran for"}>
          <Sized>
            <Answer query={query} rows={5}>
              {({ series }) => (
                <Plot
                  label={what === "wait" ? "Waiting times, over time" : "Run times, over time"}
                  kind="lines"
                  times={series.map((bucket) => bucket.at)}
                  axis={timeAxis}
                  format={(value) => (value === 0 ? "0" : span(value))}
                  time={time}
                  empty={what === "wait" ? "No job started in this window." : "No run ended in this window."}
                  series={PERCENTILES.map(([name, dash]) => ({
                    name,
                    dash,
                    color: "var(--ink)",
                    values: series.map((bucket) => bucket[what][name]),
                  }))}
                />
              )}
            </Answer>
          </Sized>
        </Panel>
      ))}
    </div>
  );
}

/** Keeps the place of a plot that is not there yet. */
const Sized = ({ children }: { children: React.ReactNode }) => <div className="h-[196px]">{children}</div>;

const sumOf = (series: readonly Counts[], states: readonly string[]) =>
  states.reduce(
    (all, state) => all + series.reduce((n, bucket) => n + Number(bucket[state as keyof Counts]), 0),
    0,
  );

/** How large a part of what ended failed or expired. */
function Share({ series }: { series: readonly Counts[] }) {
  const ended = sumOf(series, TERMINAL);
  if (ended === 0) return null;
  const share = (100 * sumOf(series, FAILURES)) / ended;
  return (
    <>
      {share > 0 && share < 0.1 ? "<0.1" : share.toFixed(1).replace(/\.0$/, "")}% of {count(ended)} ended
    </>
  );
}
