"use client";

import { type Draft, draftOf, type FormField, fieldsOf, jsonOf, readForm } from "@/lib/arguments-form";
import type { Schema } from "@/lib/documents";
import { write } from "@/lib/json";
import { Field } from "@/ui/field";

/** An input that is being written, as fields or as JSON. */
export type Written = { as: "form" | "json"; draft: Draft; json: string };

export const EMPTY: Written = { as: "form", draft: {}, json: "{}" };

/** An input that exists, ready to be changed: as fields where they can show all of it, else as JSON. */
export function writtenOf(input: unknown, schema: Schema): Written {
  const draft = draftOf(input, schema);
  return { as: draft ? "form" : "json", draft: draft ?? {}, json: write(input, 2) };
}

export const inputOf = (schema: Schema, written: Written) =>
  written.as === "json" ? jsonOf(written.json) : readForm(schema, written.draft);

type Props = {
  schema: Schema;
  written: Written;
  change: (written: Written) => void;
  wrong: Record<string, string>;
};

/** The arguments of an action: a field for each of them in the order of its signature, or all of them as JSON. */
export function InputForm({ schema, written, change, wrong }: Props) {
  const fields = fieldsOf(schema);
  const asJson = written.as === "json" || fields.length === 0;
  const turn = () => {
    if (written.as === "form") {
      const { value } = readForm(schema, written.draft);
      return change({ ...written, as: "json", json: write(value, 2) });
    }
    const { value, wrong: bad } = jsonOf(written.json);
    const draft = Object.keys(bad).length ? null : draftOf(value, schema);
    if (draft) change({ ...written, as: "form", draft });
  };
  return (
    <fieldset>
      <legend className="sr-only">Input</legend>
      {fields.length > 0 && (
        <div className="mb-2 flex items-center justify-between">
          <span className="text-13 text-muted">
            Input{!asJson && <span aria-hidden="true"> · fields marked * are required</span>}
          </span>
          <span role="group" aria-label="Write the input as" className="flex gap-1">
            {(["form", "json"] as const).map((each) => (
              <button
                key={each}
                type="button"
                aria-pressed={written.as === each}
                className={`button button-small ${written.as === each ? "bg-sunk" : "button-bare text-muted"}`}
                onClick={() => written.as !== each && turn()}
              >
                {each === "form" ? "Form" : "JSON"}
              </button>
            ))}
          </span>
        </div>
      )}
      {asJson ? (
        <Field name="Input" hint="JSON" wrong={wrong[""] ?? Object.values(wrong)[0]}>
          <textarea
            className="input"
            rows={8}
            spellCheck={false}
            value={fields.length > 0 ? written.json : (written.draft[""] ?? written.json)}
            onChange={(event) =>
              change({
                ...written,
                json: event.target.value,
                draft: { ...written.draft, "": event.target.value },
              })
            }
          />
        </Field>
      ) : (
        <div className="grid gap-4 sm:grid-cols-2">
          {fields.map((field) => (
            <Field
              key={field.name}
              name={field.name}
              required={field.required}
              wrong={wrong[field.name]}
              hint={field.hint}
            >
              <Control
                field={field}
                value={written.draft[field.name] ?? ""}
                onChange={(value) => change({ ...written, draft: { ...written.draft, [field.name]: value } })}
              />
            </Field>
          ))}
        </div>
      )}
    </fieldset>
  );
}

type ControlProps = { field: FormField; value: string; onChange: (value: string) => void };

function Control({ field, value, onChange, ...rest }: ControlProps) {
  const change = (event: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>) =>
    onChange(event.target.value);
  const props = { ...rest, className: "input", value, onChange: change };
  if (field.kind === "json") return <textarea {...props} rows={3} spellCheck={false} placeholder="JSON" />;
  if (field.kind === "boolean" || field.kind === "choice") {
    const options = field.kind === "boolean" ? [true, false] : (field.schema.enum ?? []);
    return (
      <select {...props}>
        <option value="" disabled={field.required}>
          {field.required ? "choose…" : "the default"}
        </option>
        {options.map((option) => (
          <option key={write(option)} value={write(option)}>
            {String(option)}
          </option>
        ))}
      </select>
    );
  }
  return <input {...props} inputMode={field.kind === "number" ? "decimal" : undefined} />;
}
