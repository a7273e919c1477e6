import type { LogLine } from "@/lib/documents";
import { write } from "@/lib/json";
import { visible } from "@/lib/visible-text";
import { traceLines } from "./traceback";

/** The step and attempt that wrote a line. */
type Attempt = { step: string; attempt: number };

/** One row of the display; a line of several rows shows its time at the first. */
export type Row = {
  key: string;
  cursor: number;
  at: string | null;
  level: string;
  text: string;
  step: string;
  attempt: number;
  /** A frame of a traceback that is not people's own code. */
  library: boolean;
};

// A row is 20 px and a browser's scroll height ends near 2^25: this many fit, and no tab grows without end.
export const KEPT = 200_000;
const ORDER = ["debug", "info", "warning", "error", "critical"];

/** The lines of one log in the order of their cursors, each once. */
export class LogStore {
  rows: Row[] = [];
  lines = 0;
  dropped = 0;
  widest = 0;
  attempts: Attempt[] = [];
  #last = -1;
  #listeners = new Set<() => void>();
  #version = 0;
  #frame = 0;

  add(line: LogLine) {
    const cursor = Number(line.cursor);
    if (cursor <= this.#last) return;
    this.#last = cursor;
    this.lines += 1;
    const { step = "", attempt = 0, level } = line;
    if (!this.attempts.some((each) => each.step === step && each.attempt === attempt)) {
      this.attempts = [...this.attempts, { step, attempt }];
    }
    const [first, ...rest] = traceLines(textOf(line));
    // A traceback begins with the exception; where the line itself says it, once is enough.
    const shown = rest[0]?.text === first?.text ? [first!, ...rest.slice(1)] : [first!, ...rest];
    shown.forEach(({ text, library }, part) => {
      this.widest = Math.max(this.widest, text.length);
      const at = part ? null : line.at;
      this.rows.push({ key: `${cursor}.${part}`, cursor, at, level, text, step, attempt, library });
    });
    if (this.rows.length > KEPT * 1.1) {
      this.dropped += this.rows.length - KEPT;
      this.rows = this.rows.slice(-KEPT);
    }
    this.#changed();
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  version = () => this.#version;

  // A burst of lines is one rendering: a hundred thousand of them come as smoothly as ten.
  #changed() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#version += 1;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** The rows that a filter lets through; of a line that matches, all rows. */
export function shownRows(
  rows: readonly Row[],
  { text, level, attempt }: { text: string; level: string; attempt: Attempt | null },
): Row[] {
  const least = ORDER.indexOf(level);
  const wanted = text.toLowerCase();
  const found = new Set<number>();
  if (wanted) for (const row of rows) if (row.text.toLowerCase().includes(wanted)) found.add(row.cursor);
  return rows.filter(
    (row) =>
      (!wanted || found.has(row.cursor)) &&
      (least < 0 || ORDER.indexOf(row.level) >= least) &&
      (!attempt || (row.step === attempt.step && row.attempt === attempt.attempt)),
  );
}

/** The line as text: fields follow as name=value, long ones below; control characters are shown, not obeyed. */
export function textOf({ line, fields }: LogLine): string {
  let text = line;
  let below = "";
  for (const [name, value] of Object.entries(fields ?? {})) {
    const said = typeof value === "string" ? value : write(value);
    if (said.startsWith("Traceback (")) below += `\n${said.trimEnd()}`;
    else if (said.includes("\n")) below += `\n${name}=${said.trimEnd()}`;
    else text += ` ${name}=${said}`;
  }
  return visible(text + below);
}
