// One request, written for a shell and for Python.

import { Digits, write } from "./json";

export type Enqueue = { action: string; input: unknown; options: Record<string, unknown> };

export function asCurl(url: string, { action, input, options }: Enqueue): string {
  const body = write({ action, input, ...options });
  return [
    `curl -s ${quoted(`${url}/api/jobs`)} \\`,
    `  -H "Authorization: Bearer $KAIROS_KEY" -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(body)}`,
  ].join("\n");
}

export function asPython(url: string, { action, input, options }: Enqueue): string {
  const given = Object.entries(options).map(([name, value]) => [snake(name), value] as const);
  const chosen = given.length
    ? `.options(${given.map(([name, value]) => `${name}=${literal(value)}`).join(", ")})`
    : "";
  return [
    "import os",
    "from kairos import KairosClient",
    "",
    `with KairosClient(${literal(url)}, os.environ["KAIROS_KEY"]) as client:`,
    `    client${chosen}.enqueue(${[literal(action), ...argumentsOf(input)].join(", ")})`,
  ].join("\n");
}

/** A value as Python writes it. */
export function literal(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (value instanceof Digits || typeof value !== "object") return write(value);
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  return `{${Object.entries(value)
    .map(([name, each]) => `${literal(name)}: ${literal(each)}`)
    .join(", ")}}`;
}

function argumentsOf(input: unknown): string[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [`**${literal(input)}`];
  const entries = Object.entries(input);
  const named = entries.filter(([name]) => /^[A-Za-z_]\w*$/.test(name));
  const others = entries.filter(([name]) => !/^[A-Za-z_]\w*$/.test(name));
  return [
    ...named.map(([name, value]) => `${name}=${literal(value)}`),
    ...(others.length ? [`**${literal(Object.fromEntries(others))}`] : []),
  ];
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
