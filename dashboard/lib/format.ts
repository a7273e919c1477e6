const whole = new Intl.NumberFormat("en-GB");

export const count = (n: number | bigint | null | undefined) => (n == null ? "–" : whole.format(n));

/** How many jobs are in a state; "+" where the service counted only so far. */
export const countOf = (
  stats: { states: Record<string, number>; atLeast: string[] } | undefined,
  state: string,
) => (stats ? count(stats.states[state]) + (stats.atLeast.includes(state) ? "+" : "") : "–");

export function rate(n: number): string {
  if (n === 0) return "0";
  return n < 10 ? n.toFixed(2).replace(/\.?0+$/, "") : whole.format(Math.round(n));
}

export const plural = (n: number | bigint, one: string, many = `${one}s`) =>
  `${count(n)} ${Number(n) === 1 ? one : many}`;
