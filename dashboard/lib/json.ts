// JSON whose numbers keep their digits: an integer beyond 2^53 is read as a bigint, never rounded.

export class Digits {
  constructor(readonly text: string) {}
  toString() {
    return this.text;
  }
}

const UNSAFE = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
// Unguessable, so that no text of a job is taken for one.
const MARK = `\uE000${Math.random().toString(36)}:`;

export function read<T = unknown>(text: string): T {
  let marked = false;
  const safe = text.replace(UNSAFE, (token) => {
    if (token[0] === '"' || faithful(token)) return token;
    marked = true;
    return `"${MARK}${token}"`;
  });
  return marked ? JSON.parse(safe, revive) : JSON.parse(safe);
}

export function write(value: unknown, indent = 0, level = 0): string {
  if (value instanceof Digits) return value.text;
  if (typeof value === "bigint") return value.toString();
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const inner = Array.isArray(value)
    ? value.map((item) => write(item, indent, level + 1))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(
          ([name, item]) => `${JSON.stringify(name)}:${indent ? " " : ""}${write(item, indent, level + 1)}`,
        );
  if (inner.length === 0) return open + close;
  if (!indent) return open + inner.join(",") + close;
  const pad = " ".repeat(indent * (level + 1));
  return `${open}\n${inner.map((line) => pad + line).join(",\n")}\n${" ".repeat(indent * level)}${close}`;
}

function faithful(token: string): boolean {
  if (token.length < 16) return true;
  const value = Number(token);
  return /^-?\d+$/.test(token) ? Number.isSafeInteger(value) : String(value) === token;
}

function revive(_: string, value: unknown) {
  if (typeof value !== "string" || !value.startsWith(MARK)) return value;
  const token = value.slice(MARK.length);
  if (/^-?\d+$/.test(token)) return BigInt(token);
  return /^-?\d[\d.eE+-]*$/.test(token) ? new Digits(token) : value;
}
