// A machine's arguments as a form: which field fits a property, what was filled in, and the value it stands for.

import type { Schema } from "./documents";
import { read, write } from "./json";

/** What was typed, by the names of the properties; under "" the whole as JSON. */
export type Draft = Record<string, string>;
export type Kind = "text" | "number" | "boolean" | "choice" | "json";
export type FormField = {
  name: string;
  schema: Schema;
  kind: Kind;
  required: boolean;
  hint: string | undefined;
};

/** The fields in the order of the signature. */
export function fieldsOf(schema: Schema): FormField[] {
  const order = schema["x-order"] ?? [];
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const properties = Object.entries(schema.properties ?? {}).sort(([a], [b]) => place(a) - place(b));
  return properties.map(([name, property]) => {
    const plainly = plain(property, schema);
    const required = schema.required?.includes(name) ?? false;
    return { name, schema: plainly, kind: kindOf(plainly), required, hint: hintOf(plainly, required) };
  });
}

/** An input that was read from a form, and what is wrong with it, by field; under "" what is wrong with the whole. */
export type Read = { value: Record<string, unknown>; wrong: Record<string, string> };

/** The draft as a value, or what is wrong with each field of it. */
export function readForm(schema: Schema, draft: Draft): Read {
  const fields = fieldsOf(schema);
  if (fields.length === 0) return jsonOf(draft[""] ?? "{}");
  const wrong: Record<string, string> = {};
  const value: Record<string, unknown> = {};
  for (const { name, kind, required } of fields) {
    const text = draft[name] ?? "";
    if (text === "") {
      if (required) wrong[name] = `${name} is required.`;
    } else if (kind === "text") value[name] = text;
    else {
      try {
        value[name] = read(text);
      } catch {
        wrong[name] = kind === "number" ? "This is not a number." : "This is not JSON.";
      }
    }
  }
  return { value, wrong };
}

/** A whole input as it was typed in JSON. */
export function jsonOf(text: string): Read {
  try {
    const value = read<unknown>(text);
    if (isObject(value)) return { value, wrong: {} };
    return { value: {}, wrong: { "": "This is not a JSON object: arguments have names." } };
  } catch (error) {
    return { value: {}, wrong: { "": `This is not JSON: ${(error as Error).message}` } };
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A stored input as the fields show it; `null` where they cannot show all of it. */
export function draftOf(input: unknown, schema: Schema): Draft | null {
  const fields = fieldsOf(schema);
  if (fields.length === 0) return { "": write(input, 2) };
  if (!isObject(input)) return null;
  const draft: Draft = {};
  for (const [name, value] of Object.entries(input)) {
    const field = fields.find((each) => each.name === name);
    if (!field) return null; // an argument of another version
    // Left empty, it is what the action would take anyway.
    if (!field.required && write(value) === write(field.schema.default ?? null)) continue;
    if (field.kind === "text" && (typeof value !== "string" || value === "")) return null;
    draft[name] = field.kind === "text" ? String(value) : write(value);
  }
  return draft;
}

function kindOf(schema: Schema): Kind {
  if (schema.enum) return "choice";
  if (schema.type === "string") return "text";
  if (schema.type === "integer" || schema.type === "number") return "number";
  return schema.type === "boolean" ? "boolean" : "json";
}

/** The schema without its detours: references followed, "or null" left out. */
function plain(schema: Schema, root: Schema): Schema {
  const name = schema.$ref?.split("/").pop();
  if (name && root.$defs?.[name]) return plain({ ...root.$defs[name], ...schema, $ref: undefined }, root);
  const others = schema.anyOf?.filter((each) => each.type !== "null");
  if (others?.length === 1) return plain({ ...schema, ...others[0], anyOf: undefined }, root);
  return schema;
}

function hintOf(schema: Schema, required: boolean): string | undefined {
  const kind = Array.isArray(schema.type) ? schema.type.join(" or ") : schema.type;
  const fallback =
    schema.default === undefined || schema.default === null ? "" : `, ${write(schema.default)} if left empty`;
  return (
    schema.description ?? ((kind ? `${kind}${required ? "" : ", optional"}` : "") + fallback || undefined)
  );
}
