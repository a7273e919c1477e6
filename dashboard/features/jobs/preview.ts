import { write } from "@/lib/json";
import { visibleLine } from "@/lib/visible-text";
import { ANY } from "./filter";

const LONGEST = 160;
const ENOUGH = 40;

/**
 * A job's arguments on one line, such as `name: ada, times: 3`, to distinguish jobs in a list. Those that the list is
 * filtered by come first, as a line may be cut off.
 */
export function preview(input: unknown, filters: readonly string[] = []): string {
  if (input === null || input === undefined) return "";
  if (typeof input !== "object" || Array.isArray(input)) return cut(said(input), LONGEST);
  const parts: string[] = [];
  let length = 0;
  const isFiltered = ([name, value]: [string, unknown]) =>
    filters.some((each) => each.startsWith(`${name}:`) || each === ANY + said(value));
  const entries = Object.entries(input);
  for (const [name, value] of [
    ...entries.filter(isFiltered),
    ...entries.filter((each) => !isFiltered(each)),
  ]) {
    const part = `${visibleLine(name)}: ${cut(said(value), Math.max(ENOUGH, LONGEST / 2))}`;
    parts.push(part);
    length += part.length + 2;
    if (length > LONGEST) break;
  }
  return cut(parts.join(", "), LONGEST);
}

const said = (value: unknown) => visibleLine(typeof value === "string" ? value : write(value));
const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
