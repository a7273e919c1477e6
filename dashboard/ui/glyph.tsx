import type { Glyph as Name } from "@/lib/lifecycle.gen";

const stroke = {
  fill: "none",
  stroke: "currentColor",
  strokeWidth: 1.5,
  strokeLinecap: "round",
  strokeLinejoin: "round",
} as const;

const SHAPES: Record<Name, React.ReactNode> = {
  clock: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3l2 1.5" />
    </>
  ),
  dots: (
    <>
      <circle cx="8" cy="8" r="5.5" strokeDasharray="1.2 3.12" />
      <circle cx="8" cy="8" r="1" fill="currentColor" />
    </>
  ),
  spinner: (
    <>
      <circle cx="8" cy="8" r="5.5" opacity="0.3" />
      <path
        className="turning"
        d="M8 2.5a5.5 5.5 0 0 1 5.5 5.5"
        style={{ transformOrigin: "8px 8px", transformBox: "view-box" }}
      />
    </>
  ),
  envelope: (
    <>
      <rect x="2.5" y="4" width="11" height="8" rx="1" />
      <path d="m3 5 5 4 5-4" />
    </>
  ),
  check: <path d="m3.5 8.5 3 3 6-7" />,
  cross: <path d="m4 4 8 8M12 4l-8 8" />,
  slash: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="m4.2 11.8 7.6-7.6" />
    </>
  ),
  hourglass: (
    <path d="M4.5 2.5h7M4.5 13.5h7M5 2.5c0 3 3 4 3 5.5s-3 2.5-3 5.5M11 2.5c0 3-3 4-3 5.5s3 2.5 3 5.5" />
  ),
};

/** The drawn sign of a state, beside its word. */
export function Glyph({ name, size = 14 }: { name: Name; size?: number }) {
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" className="shrink-0" {...stroke}>
      {SHAPES[name]}
    </svg>
  );
}
