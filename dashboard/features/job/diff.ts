// What changed from one JSON value to the next, by the path of each member.

import { write } from "@/lib/json";

export type Difference = { path: string; before: string | null; after: string | null };

export function differences(before: unknown, after: unknown, path = ""): Difference[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => {
      const here = path ? `${path}.${name}` : name;
      const [had, has] = [name in before, name in after];
      if (had && has) return differences(before[name], after[name], here);
      return [
        { path: here, before: had ? write(before[name]) : null, after: has ? write(after[name]) : null },
      ];
    });
  }
  const [old, fresh] = [
    before === undefined ? null : write(before),
    after === undefined ? null : write(after),
  ];
  return old === fresh ? [] : [{ path: path || "the whole", before: old, after: fresh }];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.getPrototypeOf(value) === Object.prototype;
