import type { LogLine } from "@/lib/documents";
import { write } from "@/lib/json";

/** One row of the display; a line of several rows shows its time at the first. */
export type Row = { key: string; cursor: number; at: string | null; level: string; text: string };

// A row is 20 px and a browser's scroll height ends near 2^25: this many fit, and no tab grows without end.
export const KEPT = 200_000;

/** The lines of one log in the order of their cursors, each once. */
export class LogStore {
  rows: Row[] = [];
  lines = 0;
  dropped = 0;
  widest = 0;
  #last = -1;
  #listeners = new Set<() => void>();
  #version = 0;
  #frame = 0;

  add(line: LogLine) {
    const cursor = Number(line.cursor);
    if (cursor <= this.#last) return;
    this.#last = cursor;
    this.lines += 1;
    textOf(line).split("\n").forEach((text, part) => {
      this.widest = Math.max(this.widest, text.length);
      this.rows.push({ key: `${cursor}.${part}`, cursor, at: part ? null : line.at, level: line.level, text });
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
      this.#listeners.forEach((listener) => listener());
    });
  }
}

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** The line as text: fields follow as name=value, long ones below; control characters are shown, not obeyed. */
function textOf({ line, fields }: LogLine): string {
  let text = line;
  let below = "";
  for (const [name, value] of Object.entries(fields ?? {})) {
    const said = typeof value === "string" ? value : write(value);
    if (said.includes("\n")) below += `\n${name}=${said.trimEnd()}`;
    else text += ` ${name}=${said}`;
  }
  return (text + below).replaceAll("\r\n", "\n").replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
