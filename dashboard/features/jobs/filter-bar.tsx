"use client";

import { useEffect, useState } from "react";
import { type JobState, LOOKS, STATES } from "@/lib/lifecycle.gen";
import { useMachines } from "@/lib/machines";
import { useList } from "@/lib/paged-list";
import { visibleLine } from "@/lib/visible-text";
import { Field } from "@/ui/field";
import { Glyph } from "@/ui/glyph";
import { useCounts } from "./counts";
import { CLEARED, type Filter, isSet, sayArgument, shownIn } from "./filter";

type Change = (changes: Record<string, string | readonly string[] | null>) => void;

/** What to show: states as switches with their counts, the rest behind "More". */
export function FilterBar({ filter, change }: { filter: Filter; change: Change }) {
  const counts = useCounts(filter);
  const machines = useMachines();
  const queues = useList("queues", "/api/queues", {}).query;
  const options: Record<string, string[] | undefined> = {
    action: machines.data?.machines.map((machine) => machine.name),
    queue: queues.data?.queues.map((queue) => queue.name),
  };
  const rest = shownIn("field").filter(([name]) => filter[name]).length;
  const [more, setMore] = useState(rest > 0);

  const toggle = (state: JobState) =>
    change({
      state: filter.state.includes(state)
        ? filter.state.filter((each) => each !== state)
        : [...filter.state, state],
    });

  return (
    <div className="mb-4 flex flex-col gap-3">
      <div role="group" aria-label="States" className="flex flex-wrap gap-1.5">
        {STATES.map((state) => {
          const on = filter.state.includes(state);
          return (
            <button
              key={state}
              type="button"
              aria-pressed={on}
              onClick={() => toggle(state)}
              className={`button button-small tone-${LOOKS[state].tone} ${on ? "" : "text-muted"}`}
              style={
                on
                  ? {
                      borderColor: "var(--tone)",
                      color: "var(--tone)",
                      background: "color-mix(in srgb, var(--tone) 10%, var(--panel))",
                    }
                  : undefined
              }
            >
              <span className="tone">
                <Glyph name={LOOKS[state].glyph} size={12} />
              </span>
              {state}
              <span className={`min-w-3 text-right ${on ? "" : "text-muted"}`}>{counts(state)}</span>
            </button>
          );
        })}
      </div>
      <div className="flex flex-wrap items-center gap-2">
        {shownIn("menu").map(([name, { label }]) => (
          <Pick
            key={name}
            name={label}
            value={filter[name]}
            options={options[name] ?? []}
            onChange={(value) => change({ [name]: value })}
          />
        ))}
        {filter.input.map((each) => (
          <Chip
            key={each}
            name={visibleLine(sayArgument(each))}
            onRemove={() => change({ input: filter.input.filter((other) => other !== each) })}
          />
        ))}
        {shownIn("chip").map(([name, { say }]) => {
          const value = filter[name];
          return value && <Chip key={name} name={say(value)} onRemove={() => change({ [name]: null })} />;
        })}
        <button
          type="button"
          className="button button-small"
          aria-expanded={more}
          onClick={() => setMore(!more)}
        >
          More filters{rest > 0 ? ` (${rest})` : ""}
        </button>
        {isSet(filter) && (
          <button type="button" className="button button-small button-bare" onClick={() => change(CLEARED)}>
            Clear
          </button>
        )}
      </div>
      {more && (
        <div className="panel grid gap-4 p-4 sm:grid-cols-2 lg:grid-cols-5">
          {shownIn("field").map(([name, { label, time }]) => (
            <Field key={name} name={label}>
              <Late
                type={time ? "datetime-local" : "text"}
                value={filter[name] ?? ""}
                onChange={(value) => change({ [name]: value || null })}
              />
            </Field>
          ))}
        </div>
      )}
    </div>
  );
}

/** One part of the filter; a click takes it away. */
function Chip({ name, onRemove }: { name: string; onRemove: () => void }) {
  return (
    <button
      type="button"
      className="button button-small max-w-60"
      onClick={onRemove}
      aria-label={`Remove the filter ${name}`}
    >
      <span className="truncate">{name}</span> ×
    </button>
  );
}

function Pick({
  name,
  value,
  options,
  onChange,
}: {
  name: string;
  value: string | null;
  options: readonly string[];
  onChange: (value: string | null) => void;
}) {
  const all = value && !options.includes(value) ? [value, ...options] : options;
  return (
    <select
      aria-label={name}
      className="input h-7 w-auto max-w-52 text-13"
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value || null)}
    >
      <option value="">{name}: any</option>
      {all.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  );
}

/** A field whose value takes effect when one is done with it, not at every key. */
function Late({
  value,
  onChange,
  ...rest
}: { value: string; onChange: (value: string) => void } & Omit<
  React.ComponentProps<"input">,
  "value" | "onChange"
>) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const done = () => text !== value && onChange(text.trim());
  return (
    <input
      {...rest}
      className="input"
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={done}
      onKeyDown={(event) => event.key === "Enter" && done()}
    />
  );
}
