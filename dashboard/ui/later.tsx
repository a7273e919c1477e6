"use client";

import { type ComponentType, lazy, Suspense } from "react";

const AGAIN_AFTER = 1500;
const loaders = new Set<() => Promise<unknown>>();

/** A part whose code is not in the first page's: it is read when it is shown, or before, when nothing else happens. */
export function later<P extends object>(
  load: () => Promise<ComponentType<P>>,
  meanwhile: React.ReactNode | ((props: P) => React.ReactNode) = null,
): ComponentType<P> {
  loaders.add(load);
  const Part = lazy(async () => ({ default: await patiently(load) }));
  return function Later(props: P) {
    return (
      <Suspense fallback={typeof meanwhile === "function" ? meanwhile(props) : meanwhile}>
        <Part {...props} />
      </Suspense>
    );
  };
}

/** Reads the code of all such parts that the pages read so far have. */
export const loadParts = () => Promise.all([...loaders].map((load) => load()));

async function patiently<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load();
    } catch {
      await new Promise((again) => setTimeout(again, AGAIN_AFTER)); // the connection is lost; it will be found again
    }
  }
}
