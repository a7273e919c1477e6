"use client";

import { Icon } from "@/ui/icon";
import type { Attempt } from "./waterfall-view";

export type LogFilter = { text: string; level: string };
export const ALL: LogFilter = { text: "", level: "" };
export const isFiltered = (filter: LogFilter & { attempt: Attempt | null }) =>
  filter.text !== "" || filter.level !== "" || filter.attempt !== null;

const LEVELS = { "": "All levels", info: "Info and above", warning: "Warnings and errors", error: "Errors" };

type Props = {
  filter: LogFilter;
  onFilter: (filter: LogFilter) => void;
  attempts: readonly Attempt[];
  attempt: Attempt | null;
  choose: (attempt: Attempt | null) => void;
  wraps: boolean;
  onWraps: (wraps: boolean) => void;
  tall: boolean;
  onTall: (tall: boolean) => void;
  download: { name: string; text: () => string };
};

/** What narrows a log, and how it is shown. */
export function LogTools(props: Props) {
  const { filter, onFilter, attempts, attempt, choose, wraps, onWraps, tall, onTall, download } = props;
  const nameOf = (each: Attempt) => `${each.step}, attempt ${each.attempt + 1}`;
  const save = () => {
    const url = URL.createObjectURL(new Blob([download.text()], { type: "text/plain" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = download.name;
    link.click();
    URL.revokeObjectURL(url);
  };
  const known =
    attempt && !attempts.some((each) => nameOf(each) === nameOf(attempt)) ? [...attempts, attempt] : attempts;
  return (
    <div className="flex flex-wrap items-center gap-2 border-b px-4 py-2">
      <input
        type="search"
        aria-label="Search the log"
        placeholder="Search the log"
        className="input h-7 max-w-44 min-w-28 flex-1 text-13"
        value={filter.text}
        onChange={(event) => onFilter({ ...filter, text: event.target.value })}
      />
      <select
        aria-label="Level"
        className="input h-7 w-auto text-13"
        value={filter.level}
        onChange={(event) => onFilter({ ...filter, level: event.target.value })}
      >
        {Object.entries(LEVELS).map(([level, name]) => (
          <option key={level} value={level}>
            {name}
          </option>
        ))}
      </select>
      {(known.length > 1 || attempt) && (
        <select
          aria-label="Attempt"
          className="input h-7 w-auto max-w-52 text-13"
          value={attempt ? nameOf(attempt) : ""}
          onChange={(event) => choose(known.find((each) => nameOf(each) === event.target.value) ?? null)}
        >
          <option value="">All attempts</option>
          {known.map((each) => (
            <option key={nameOf(each)} value={nameOf(each)}>
              {nameOf(each)}
            </option>
          ))}
        </select>
      )}
      <span className="ml-auto flex gap-1">
        <button
          type="button"
          className="button button-small button-bare aria-pressed:bg-sunk"
          aria-pressed={wraps}
          title="Wrap long lines"
          aria-label="Wrap long lines"
          onClick={() => onWraps(!wraps)}
        >
          <Icon name="wrap" size={14} />
        </button>
        <button
          type="button"
          className="button button-small button-bare"
          title="Download what is shown"
          aria-label="Download the log"
          onClick={save}
        >
          <Icon name="download" size={14} />
        </button>
        <button
          type="button"
          className="button button-small button-bare aria-pressed:bg-sunk"
          aria-pressed={tall}
          title={tall ? "Back to the page (Esc)" : "Use the whole window"}
          aria-label="Use the whole window for the log"
          onClick={() => onTall(!tall)}
        >
          <Icon name={tall ? "close" : "grow"} size={14} />
        </button>
      </span>
    </div>
  );
}
