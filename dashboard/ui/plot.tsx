"use client";

import { useEffect, useRef, useState } from "react";
import type { Axis } from "@/lib/axes";
import { Bar, Line } from "./plot-marks";

export type Series = { name: string; color: string; values: readonly (number | null)[]; dash?: string };

type Props = {
  label: string;
  times: readonly string[];
  series: readonly Series[];
  /** Bars stand on each other; lines share one ground. */
  kind: "bars" | "lines";
  /** Where the lines of the ground stand, for the highest value there is. */
  axis: (highest: number) => Axis;
  format: (value: number) => string;
  time: (at: string) => string;
  /** What is said where there is nothing to draw. */
  empty: string;
};

const HEIGHT = 148;
const PAD = { left: 56, right: 8, top: 8, bottom: 22 };

/** A small plot over time; the values under the pointer are read out below it. */
export function Plot({ label, times, series, kind, axis, format, time, empty }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<number | null>(null);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  const n = times.length;
  const sums = times.map((_, i) =>
    series.reduce(
      (sum, each) => (kind === "bars" ? sum + (each.values[i] ?? 0) : Math.max(sum, each.values[i] ?? 0)),
      0,
    ),
  );
  const { ceiling, ticks } = axis(Math.max(...sums, 0));
  const isEmpty = hasNothing(series, kind);
  const inner = Math.max(0, width - PAD.left - PAD.right);
  const x = (i: number) => PAD.left + (n > 0 ? ((i + 0.5) * inner) / n : 0);
  const y = (value: number) => HEIGHT - PAD.bottom - (value / ceiling) * (HEIGHT - PAD.top - PAD.bottom);
  const shown = at !== null && at < n ? at : null;
  const step = Math.max(1, Math.ceil(n / Math.max(1, Math.floor(inner / 72))));

  return (
    <figure className="min-w-0">
      <div
        ref={box}
        className="relative"
        style={{ height: HEIGHT }}
        onPointerLeave={() => setAt(null)}
        onPointerMove={(event) =>
          setAt(
            Math.max(
              0,
              Math.min(n - 1, Math.floor(((event.nativeEvent.offsetX - PAD.left) / Math.max(1, inner)) * n)),
            ),
          )
        }
      >
        {width > 0 && (
          <svg width={width} height={HEIGHT} role="img" aria-label={isEmpty ? `${label}. ${empty}` : label}>
            {ticks.map((tick) => (
              <g key={tick.value}>
                <line
                  x1={PAD.left}
                  x2={width - PAD.right}
                  y1={y(tick.value)}
                  y2={y(tick.value)}
                  stroke="var(--line)"
                />
                <text
                  x={PAD.left - 8}
                  y={y(tick.value)}
                  textAnchor="end"
                  dominantBaseline="central"
                  fontSize={12}
                  fill="var(--muted)"
                >
                  {tick.label}
                </text>
              </g>
            ))}
            {times.map(
              (each, i) =>
                i % step === 0 && (
                  <text
                    key={each}
                    x={x(i)}
                    y={HEIGHT - 6}
                    textAnchor="middle"
                    fontSize={12}
                    fill="var(--muted)"
                  >
                    {time(each)}
                  </text>
                ),
            )}
            {shown !== null && (
              <line
                x1={x(shown)}
                x2={x(shown)}
                y1={PAD.top}
                y2={HEIGHT - PAD.bottom}
                stroke="var(--strong)"
              />
            )}
            {kind === "bars"
              ? times.map((each, i) => (
                  <Bar
                    key={each}
                    i={i}
                    series={series}
                    x={x(i)}
                    y={y}
                    wide={Math.max(1, Math.min(14, (inner / n) * 0.7))}
                  />
                ))
              : series.map((each) => <Line key={each.name} series={each} x={x} y={y} />)}
          </svg>
        )}
        {isEmpty && (
          <p
            aria-hidden="true"
            data-empty
            className="pointer-events-none absolute inset-0 flex items-center justify-center text-center text-13 text-muted"
            style={{ paddingLeft: PAD.left, paddingRight: PAD.right, paddingBottom: PAD.bottom }}
          >
            <span className="bg-panel px-2">{empty}</span>
          </p>
        )}
      </div>
      <figcaption className="mt-2 flex h-5 gap-x-4 overflow-hidden text-12 whitespace-nowrap text-muted">
        {series.map((each) => (
          <span key={each.name} className="flex items-center gap-1.5">
            <svg width="12" height="8" aria-hidden="true">
              {kind === "bars" ? (
                <rect width="8" height="8" rx="1.5" fill={each.color} />
              ) : (
                <line
                  x1="0"
                  x2="12"
                  y1="4"
                  y2="4"
                  stroke={each.color}
                  strokeWidth="2"
                  strokeDasharray={each.dash}
                />
              )}
            </svg>
            {each.name}
          </span>
        ))}
      </figcaption>
      {/* One line that is always there: what is read out under the pointer moves nothing. */}
      <p data-readout className="h-4 truncate text-12 text-muted">
        {shown !== null && (
          <>
            {time(times[shown]!)}
            {series.map((each) => (
              <span key={each.name}>
                {" · "}
                {each.name} <b className="font-medium text-ink">{read(each.values[shown], format)}</b>
              </span>
            ))}
          </>
        )}
      </p>
    </figure>
  );
}

const hasNothing = (series: readonly Series[], kind: Props["kind"]) =>
  series.every(({ values }) => values.every((value) => value == null || (kind === "bars" && value === 0)));

const read = (value: number | null | undefined, format: (value: number) => string) =>
  value === null || value === undefined ? "–" : format(value);
