import type { Series } from "./plot";

/** The values of one moment, on each other. */
export function Bar({
  i,
  series,
  x,
  y,
  wide,
}: {
  i: number;
  series: readonly Series[];
  x: number;
  y: (value: number) => number;
  wide: number;
}) {
  let below = 0;
  return series.map((each) => {
    const value = each.values[i] ?? 0;
    if (value === 0) return null;
    const [bottom, top] = [y(below), y(below + value)];
    below += value;
    return (
      <rect
        key={each.name}
        x={x - wide / 2}
        y={top}
        width={wide}
        height={Math.max(1, bottom - top)}
        fill={each.color}
      />
    );
  });
}

/** The values over time, with a gap where there is none and a dot where one stands alone. */
export function Line({
  series,
  x,
  y,
}: {
  series: Series;
  x: (i: number) => number;
  y: (value: number) => number;
}) {
  const { values } = series;
  const alone = values
    .map((value, i) => ({ value, i }))
    .filter(({ value, i }) => value != null && values[i - 1] == null && values[i + 1] == null);
  return (
    <>
      <path
        d={line(values, x, y)}
        fill="none"
        stroke={series.color}
        strokeWidth={1.5}
        strokeDasharray={series.dash}
        strokeLinejoin="round"
      />
      {alone.map(({ value, i }) => (
        <circle
          key={i}
          cx={x(i)}
          cy={y(value!)}
          r={2.5}
          fill={series.dash ? "var(--panel)" : series.color}
          stroke={series.color}
          strokeWidth={1.2}
        />
      ))}
    </>
  );
}

function line(
  values: readonly (number | null)[],
  x: (i: number) => number,
  y: (value: number) => number,
): string {
  let path = "";
  let pen = false;
  values.forEach((value, i) => {
    if (value === null || value === undefined) {
      pen = false;
      return;
    }
    path += `${pen ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = true;
  });
  return path;
}
