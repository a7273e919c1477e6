const PATHS = {
  overview: "M2.5 13.5v-5M6.2 13.5v-11M9.8 13.5v-7M13.5 13.5v-3",
  jobs: "M2.5 4h11M2.5 8h11M2.5 12h7",
  schedules: "M3 4h10v9.5H3zM3 7h10M6 2.5V5M10 2.5V5",
  machines: "M2.5 3h4v4h-4zM9.5 9h4v4h-4zM6.5 5h5v4",
  lifecycle: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  queues: "M2.5 3h11v2.5h-11zM2.5 7h11v2.5h-11zM2.5 11h11v2.5h-11z",
  workers: "M3 3h10v7H3zM6 13.5h4M8 10v3.5",
  alarms: "M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.8 14.2h2.4",
  settings: "M2.5 5h5M11 5h2.5M2.5 11h2M8 11h5.5M9.2 3.5v3M6.2 9.5v3",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.3l3.2 3.2",
  sun: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  close: "m4 4 8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  right: "m6 3.5 4.5 4.5L6 12.5",
  left: "M10 3.5 5.5 8l4.5 4.5",
  down: "m3.5 6 4.5 4.5L12.5 6",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  warning: "M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.2",
  out: "M9.5 2.5h4v11h-4M9 8H2.5M5 5.5 2.5 8 5 10.5",
  help: "M8 14a6 6 0 1 1 0-12 6 6 0 0 1 0 12zM6.3 6.3a1.7 1.7 0 1 1 2.4 1.6c-.5.2-.7.6-.7 1.1M8 11.2v.1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" className="shrink-0" fill="none"
      stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" strokeLinejoin="round">
      <path d={PATHS[name]} />
    </svg>
  );
}
