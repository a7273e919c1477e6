"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { ApiError, post } from "@/lib/api";
import { useDebounced } from "@/lib/debounced";
import type { Intent } from "@/lib/documents";
import { keys } from "@/lib/query-keys";
import { exact, ownZone, relative } from "@/lib/time";

type Refusal = { position: number; length: number; suggestions: string[]; message: string };

/** A field for an intent: it is compiled as one types, and answers with its sentence or with what it did not understand. */
export function WhenField({
  name,
  value,
  onChange,
  tz,
  optional = false,
}: {
  name: string;
  value: string;
  onChange: (value: string) => void;
  tz?: string;
  optional?: boolean;
}) {
  const id = useId();
  const settled = useDebounced(value.trim(), 150);
  const query = useQuery({
    queryKey: keys.intent(settled, tz),
    queryFn: ({ signal }) => post("/api/intent", { body: { when: settled, ...(tz ? { tz } : {}) }, signal }),
    enabled: settled !== "",
    placeholderData: keepPreviousData,
    refetchInterval: false,
    staleTime: 30_000,
    retry: false,
  });
  const refusal = refusalOf(query.error);
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-13 font-medium">
        {name}
      </label>
      <input
        id={id}
        className="input font-mono text-13"
        spellCheck={false}
        autoComplete="off"
        value={value}
        aria-describedby={`${id}-about`}
        aria-invalid={refusal ? true : undefined}
        placeholder={optional ? "now, or: in 20 minutes" : "every weekday at 9am in London"}
        onChange={(event) => onChange(event.target.value)}
      />
      <div
        id={`${id}-about`}
        aria-live="polite"
        className={`text-13 ${value.trim() === "" ? "" : optional ? "min-h-6" : "min-h-40"}`}
      >
        {settled === "" ? null : refusal ? (
          <Refused text={settled} refusal={refusal} onPick={onChange} />
        ) : query.error ? (
          <p className="tone tone-red">{query.error.message}</p>
        ) : query.data && value.trim() !== "" ? (
          <Compiled intent={query.data.intent} short={optional} />
        ) : (
          <p className="text-muted">Reading…</p>
        )}
      </div>
    </div>
  );
}

function Compiled({ intent, short }: { intent: Intent; short: boolean }) {
  const own = ownZone();
  const zones = intent.tz === own ? [own] : [intent.tz, own];
  return (
    <div className="mt-1" data-testid="compiled">
      <p className="font-medium" data-testid="sentence">
        {intent.sentence}
      </p>
      {short ? (
        intent.ticks[0] && (
          <p className="text-muted">
            {exact(intent.ticks[0], intent.tz)}, {relative(intent.ticks[0])}
          </p>
        )
      ) : (
        <div className="mt-2 overflow-x-auto" tabIndex={0} role="group" aria-label="Next fire times">
          <table className="w-full text-12">
            <caption className="sr-only">Next fire times</caption>
            <thead>
              <tr className="text-left text-muted">
                <th scope="col" className="pr-4 font-medium">
                  Next
                </th>
                {zones.map((zone, index) => (
                  <th key={zone} scope="col" className="pr-4 font-medium">
                    {zone}
                    {index > 0 ? " (yours)" : ""}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {intent.ticks.slice(0, 6).map((tick) => (
                <tr key={tick}>
                  <td className="py-0.5 pr-4 whitespace-nowrap text-muted">{relative(tick)}</td>
                  {zones.map((zone) => (
                    <td key={zone} className="py-0.5 pr-4 whitespace-nowrap">
                      {exact(tick, zone)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function Refused({
  text,
  refusal,
  onPick,
}: {
  text: string;
  refusal: Refusal;
  onPick: (text: string) => void;
}) {
  return (
    <div className="mt-1" data-testid="refused">
      <pre aria-hidden="true" className="overflow-x-auto leading-4">
        {text}
        {"\n"}
        <span className="tone tone-red">
          {" ".repeat(refusal.position)}
          {"^".repeat(Math.max(1, refusal.length))}
        </span>
      </pre>
      <p className="tone tone-red mt-1 break-words">{refusal.message}</p>
      {refusal.suggestions.length > 0 && (
        <div className="mt-2 flex flex-wrap items-center gap-2">
          <span className="text-muted">Did you mean</span>
          {refusal.suggestions.map((suggestion) => (
            <button
              key={suggestion}
              type="button"
              className="button button-small font-mono"
              onClick={() => onPick(suggestion)}
            >
              {suggestion}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function refusalOf(error: Error | null): Refusal | null {
  if (!(error instanceof ApiError) || typeof error.details.position !== "number") return null;
  const { position, length, suggestions } = error.details;
  return {
    position,
    length: Number(length ?? 1),
    suggestions: Array.isArray(suggestions) ? suggestions.map(String) : [],
    message: error.message,
  };
}
