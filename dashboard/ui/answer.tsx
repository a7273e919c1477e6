"use client";

import type { UseQueryResult } from "@tanstack/react-query";
import { ApiError, Unreachable } from "@/lib/api";
import { Icon } from "./icon";
import { Link } from "./link";

/** Shows a query's data, or that it is loading, or why it failed and how to go on. */
export function Answer<T>({
  query,
  children,
  rows = 4,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => React.ReactNode;
  rows?: number;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) return <Failure error={query.error} again={() => void query.refetch()} />;
  return <Loading rows={rows} />;
}

export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-3 p-4">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="skeleton h-5" style={{ width: `${92 - ((row * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

export function Failure({ error, again }: { error: Error; again?: () => void }) {
  const away = error instanceof Unreachable;
  return (
    <div role="alert" className="flex flex-col items-start gap-3 p-4 text-13">
      <p className="tone tone-red flex items-start gap-2">
        <span className="mt-0.5">
          <Icon name="warning" />
        </span>
        <span className="break-words">
          {away ? "The service cannot be reached. This page tries again by itself." : error.message}
        </span>
      </p>
      {error instanceof ApiError && error.requestId && (
        <p className="text-12 text-muted">Request {error.requestId}</p>
      )}
      {again && (
        <button type="button" className="button button-small" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ title, children }: { title: React.ReactNode; children?: React.ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-10 text-center">
      <p className="text-14 font-medium">{title}</p>
      {children && <div className="max-w-md text-13 text-muted">{children}</div>}
    </div>
  );
}

/** Said on the page of one thing where its address does not name one. */
export function Which({ noun }: { noun: string }) {
  return (
    <Empty title={`Which ${noun}?`}>
      <Link href={`/${noun}s/`} className="link">
        All {noun}s
      </Link>
    </Empty>
  );
}
