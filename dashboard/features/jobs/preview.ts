import { write } from "@/lib/json";
import { visibleLine } from "@/lib/visible-text";

const LONGEST = 160;
const ENOUGH = 40;

/** A job's arguments on one line, such as `name: ada, times: 3`, to distinguish jobs in a list. */
export function preview(input: unknown): string {
  if (input === null || input === undefined) return "";
  if (typeof input !== "object" || Array.isArray(input)) return cut(said(input), LONGEST);
  const parts: string[] = [];
  let length = 0;
  for (const [name, value] of Object.entries(input)) {
    const part = `${visibleLine(name)}: ${cut(said(value), Math.max(ENOUGH, LONGEST / 2))}`;
    parts.push(part);
    length += part.length + 2;
    if (length > LONGEST) break;
  }
  return cut(parts.join(", "), LONGEST);
}

const said = (value: unknown) => visibleLine(typeof value === "string" ? value : write(value));
const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
