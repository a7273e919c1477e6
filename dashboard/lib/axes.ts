// Round steps for the axes of plots: every label stands for exactly the value of its line.

export type Axis = { ceiling: number; ticks: { value: number; label: string }[] };

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNITS = [
  [DAY, "d"],
  [HOUR, "h"],
  [MINUTE, "min"],
  [SECOND, "s"],
  [1, "ms"],
] as const;
const TIME_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((n) => n * DAY),
];
const MOST = 4;

/** An axis of times, from milliseconds. */
export function timeAxis(highest: number): Axis {
  const step = TIME_STEPS.find((each) => each * MOST >= highest) ?? TIME_STEPS.at(-1)!;
  return axis(highest, step, exactSpan);
}

/** An axis of counts: whole numbers only. */
export function countAxis(highest: number): Axis {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, highest / MOST)));
  const step =
    [1, 2, 5, 10].map((factor) => factor * power).find((each) => each * MOST >= highest) ?? power * 10;
  return axis(highest, step, (value) => value.toLocaleString("en-GB"));
}

/** A length of time without rounding: 100 s are "1 min 40 s", 1500 ms are "1.5 s". */
export function exactSpan(ms: number): string {
  if (ms === 0) return "0";
  if (ms > SECOND && ms < MINUTE) return `${ms / SECOND} s`;
  const parts: string[] = [];
  let left = ms;
  for (const [size, name] of UNITS) {
    const whole = Math.floor(left / size);
    if (whole > 0) parts.push(`${whole} ${name}`);
    left -= whole * size;
  }
  return parts.join(" ") || `${ms} ms`;
}

function axis(highest: number, step: number, label: (value: number) => string): Axis {
  const steps = Math.max(1, Math.ceil(highest / step));
  const ticks = Array.from({ length: steps + 1 }, (_, index) => {
    const value = Math.round(index * step * 1e6) / 1e6;
    return { value, label: label(value) };
  });
  return { ceiling: steps * step, ticks };
}
