"use client";

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { count, plural } from "@/lib/format";
import type { StreamState } from "@/lib/stream";
import { clock, exact } from "@/lib/time";
import { Icon } from "@/ui/icon";
import { type LogStore, shownRows } from "./log-store";
import { ALL, isFiltered, type LogFilter, LogTools } from "./log-tools";
import type { Attempt } from "./waterfall-view";

const ROW = 20;
const LEVELS: Record<string, string> = {
  error: "tone tone-red",
  critical: "tone tone-red",
  warning: "tone tone-amber",
  debug: "text-muted",
};

type Props = {
  store: LogStore;
  state: StreamState;
  idle: React.ReactNode;
  name: string;
  attempt: Attempt | null;
  choose: (attempt: Attempt | null) => void;
};

/** The job's log: follows its end until one scrolls up; only the rows in sight are in the page. */
export function Log({ store, state, idle, name, attempt, choose }: Props) {
  const version = useSyncExternalStore(store.subscribe, store.version, () => 0);
  const [filter, setFilter] = useState<LogFilter>(ALL);
  const [wraps, setWraps] = useState(false);
  const [tall, setTall] = useState(false);
  const [follows, setFollows] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const wanted = { ...filter, attempt };
  const rows = useMemo(
    () => (isFiltered(wanted) ? shownRows(store.rows, wanted) : store.rows),
    [store, version, filter, attempt],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 12,
    getItemKey: (index) => rows[index]?.key ?? index,
  });
  useEffect(() => virtual.measure(), [wraps, virtual]);
  useLayoutEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  useEffect(() => {
    if (!tall) return;
    const shrink = (event: KeyboardEvent) => event.key === "Escape" && setTall(false);
    window.addEventListener("keydown", shrink);
    return () => window.removeEventListener("keydown", shrink);
  }, [tall]);

  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    setFollows(scrollHeight - scrollTop - clientHeight < ROW);
  };
  const height = Math.max(128, Math.min(360, rows.length * ROW + 16));

  return (
    <div className={tall ? "fixed inset-0 z-40 flex flex-col bg-panel" : "relative"}>
      <LogTools
        filter={filter}
        onFilter={setFilter}
        attempts={store.attempts}
        attempt={attempt}
        choose={choose}
        wraps={wraps}
        onWraps={setWraps}
        tall={tall}
        onTall={setTall}
        download={{
          name,
          text: () => rows.map((row) => `${row.at ?? ""}\t${row.level}\t${row.text}`).join("\n"),
        }}
      />
      <div
        ref={box}
        onScroll={scrolled}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Log"
        data-follows={follows}
        data-lines={store.lines}
        style={tall ? undefined : { height: wraps ? 360 : height }}
        className={`overflow-auto bg-sunk py-2 font-mono text-12 [overflow-anchor:none] ${tall ? "flex-1" : ""}`}
      >
        {rows.length === 0 ? (
          <div className="flex h-full items-center justify-center font-sans text-13 text-muted">
            {store.rows.length > 0 ? "No line matches." : idle}
          </div>
        ) : (
          <div
            style={{ height: virtual.getTotalSize(), minWidth: wraps ? undefined : `${store.widest + 26}ch` }}
            className="relative"
          >
            {virtual.getVirtualItems().map((item) => {
              const row = rows[item.index]!;
              return (
                <div
                  key={item.key}
                  ref={wraps ? virtual.measureElement : undefined}
                  data-index={item.index}
                  data-cursor={row.cursor}
                  className={`absolute left-0 flex w-full gap-3 px-3 leading-5 hover:bg-panel ${wraps ? "break-all whitespace-pre-wrap" : "whitespace-pre"}`}
                  style={{ top: item.start, minHeight: ROW }}
                >
                  <span
                    className="w-[12ch] shrink-0 text-muted select-none"
                    title={row.at ? exact(row.at) : undefined}
                  >
                    {row.at && clock(row.at)}
                  </span>
                  <span className={`w-[5ch] shrink-0 select-none ${LEVELS[row.level] ?? "text-muted"}`}>
                    {row.at && short(row.level)}
                  </span>
                  <span className={row.library ? "text-muted" : LEVELS[row.level]}>{row.text}</span>
                </div>
              );
            })}
          </div>
        )}
      </div>
      <div className="flex min-h-9 items-center justify-between gap-2 border-t px-4 py-1 text-12 text-muted">
        <span>
          {isFiltered(wanted)
            ? `${count(rows.length)} of ${plural(store.rows.length, "row")}`
            : plural(store.lines, "line")}
          {store.dropped > 0 && `, the last ${count(store.rows.length)} rows kept`}
          {state === "lost" && <span className="tone tone-red"> · connection lost, trying again</span>}
        </span>
        {rows.length > 0 &&
          (follows ? (
            <span>{state === "ended" ? "Complete" : "Following"}</span>
          ) : (
            <button type="button" className="button button-small" onClick={() => setFollows(true)}>
              <Icon name="down" size={12} />
              {state === "ended" ? "To the end" : "Paused. Follow again"}
            </button>
          ))}
      </div>
    </div>
  );
}

const short = (level: string) => (level === "warning" ? "warn" : level.slice(0, 5));
