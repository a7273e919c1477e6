"use client";

import type { Schema } from "@/lib/documents";
import { read, write } from "@/lib/json";
import { Field } from "@/ui/field";

export type Draft = Record<string, string>;
type Kind = "text" | "number" | "boolean" | "choice" | "json";

/** A field for each property of a machine's input; what has no simple field is written as JSON. */
export function InputForm({ schema, draft, change, wrong }: { schema: Schema; draft: Draft; change: (draft: Draft) => void; wrong: Record<string, string> }) {
  const needed = (name: string) => Number(schema.required?.includes(name) ?? false);
  const names = Object.keys(schema.properties ?? {}).sort((a, b) => needed(b) - needed(a));
  if (names.length === 0) {
    return (
      <Field name="Input" hint="JSON" wrong={wrong[""]}>
        <textarea className="input" rows={5} spellCheck={false} value={draft[""] ?? "{}"} onChange={(event) => change({ ...draft, "": event.target.value })} />
      </Field>
    );
  }
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      {names.map((name) => {
        const property = plain(schema.properties![name]!, schema);
        const kind = kindOf(property);
        const required = schema.required?.includes(name) ?? false;
        const set = (value: string) => change({ ...draft, [name]: value });
        return (
          <Field key={name} name={name} wrong={wrong[name]} hint={hint(property, required)}>
            {kind === "json" ? <textarea className="input" rows={3} spellCheck={false} placeholder="JSON" value={draft[name] ?? ""} onChange={(event) => set(event.target.value)} />
              : kind === "boolean" || kind === "choice" ? (
                <select className="input" value={draft[name] ?? ""} onChange={(event) => set(event.target.value)}>
                  {!required && <option value="">as the machine has it</option>}
                  {required && <option value="" disabled>choose…</option>}
                  {(kind === "boolean" ? [true, false] : property.enum ?? []).map((option) => <option key={write(option)} value={write(option)}>{String(option)}</option>)}
                </select>
              ) : <input className="input" inputMode={kind === "number" ? "decimal" : undefined} value={draft[name] ?? ""} onChange={(event) => set(event.target.value)} />}
          </Field>
        );
      })}
    </div>
  );
}

/** The draft as a value, or what is wrong with each field of it. */
export function valueOf(schema: Schema, draft: Draft): { value: unknown; wrong: Record<string, string> } {
  const wrong: Record<string, string> = {};
  const names = Object.keys(schema.properties ?? {});
  if (names.length === 0) {
    try {
      return { value: read(draft[""] ?? "{}"), wrong };
    } catch {
      return { value: null, wrong: { "": "This is not JSON." } };
    }
  }
  const value: Record<string, unknown> = {};
  for (const name of names) {
    const property = plain(schema.properties![name]!, schema);
    const kind = kindOf(property);
    const text = draft[name] ?? "";
    if (text === "") {
      if (schema.required?.includes(name)) {
        if (kind === "text") value[name] = "";
        else wrong[name] = "This one is needed.";
      }
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

function hint(schema: Schema, required: boolean): string | undefined {
  const kind = Array.isArray(schema.type) ? schema.type.join(" or ") : schema.type;
  const fallback = schema.default === undefined || schema.default === null ? "" : `, ${write(schema.default)} if left empty`;
  return schema.description ?? ((kind ? `${kind}${required ? "" : ", optional"}` : "") + fallback || undefined);
}
