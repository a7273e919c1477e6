/** Counts over time as small bars, the newest at the right. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const highest = Math.max(1, ...values);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${values.length * 5} 20`}
      width={values.length * 5}
      height={20}
      className="block max-w-full"
    >
      {values.map((value, index) => (
        <rect
          key={index}
          x={index * 5}
          width={4}
          y={value ? 19 - Math.max(2, (value / highest) * 18) : 18}
          height={value ? Math.max(2, (value / highest) * 18) + 1 : 1}
          fill={value ? "var(--tone)" : "var(--line)"}
        />
      ))}
    </svg>
  );
}
