/** Rows by a name they share, in the order the names first appear. */
export function grouped<T>(rows: readonly T[], name: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(name(row));
    if (group) group.push(row);
    else groups.set(name(row), [row]);
  }
  return groups;
}
