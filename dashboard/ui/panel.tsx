"use client";

import { useTitle } from "@/lib/title";
import { visibleLine } from "@/lib/visible-text";
import { Link } from "./link";

/** A titled part of a page. */
export function Panel({
  title,
  aside,
  children,
  flush = false,
  className = "",
}: {
  title?: React.ReactNode;
  aside?: React.ReactNode;
  children: React.ReactNode;
  flush?: boolean;
  className?: string;
}) {
  return (
    <section className={`panel min-w-0 ${className}`}>
      {title && (
        <header className="flex min-h-11 flex-wrap items-center justify-between gap-x-4 gap-y-1 border-b px-4 py-1">
          <h2 className="text-14 font-medium">{title}</h2>
          {aside && (
            <div className="flex min-w-0 items-center gap-2 text-13 wrap-anywhere text-muted">{aside}</div>
          )}
        </header>
      )}
      <div className={flush ? "" : "p-4"}>{children}</div>
    </section>
  );
}

export function PageTitle({
  title,
  children,
  above,
  tab,
}: {
  title: React.ReactNode;
  /** What the browser's tab is called, where the title alone does not tell. */
  tab?: string;
  children?: React.ReactNode;
  above?: React.ReactNode;
}) {
  useTitle(tab ?? (typeof title === "string" ? title : null));
  return (
    <div className="mb-6 flex flex-wrap items-end justify-between gap-x-4 gap-y-3">
      <div className="min-w-0">
        {above && <div className="mb-1 text-13 text-muted">{above}</div>}
        <h1 className="text-20 font-semibold tracking-tight break-words">
          {typeof title === "string" ? visibleLine(title) : title}
        </h1>
      </div>
      {children && (
        <div data-page-actions className="flex flex-wrap items-center gap-2">
          {children}
        </div>
      )}
    </div>
  );
}

/** Leads from the page of one thing to the list that it is in. */
export function Up({ to, children }: { to: string; children: React.ReactNode }) {
  return (
    <Link href={to} className="link">
      {children}
    </Link>
  );
}

/** Names and values, one under the other. */
export function Facts({ rows }: { rows: readonly (readonly [string, React.ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[minmax(96px,auto)_1fr] gap-x-4 gap-y-2 text-13">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
