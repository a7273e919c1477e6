"use client";

import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { count, plural } from "@/lib/format";
import type { StreamState } from "@/lib/stream";
import { clock, exact } from "@/lib/time";
import { Icon } from "@/ui/icon";
import type { LogStore } from "./log-store";

const ROW = 20;
const SPARE = 12;
const LEVELS: Record<string, string> = { error: "tone tone-red", critical: "tone tone-red", warning: "tone tone-amber", debug: "text-muted" };

/** The job's log: follows its end until one scrolls up; only the rows in sight are in the page. */
export function Log({ store, state, idle }: { store: LogStore; state: StreamState; idle: React.ReactNode }) {
  useSyncExternalStore(store.subscribe, store.version, () => 0);
  const box = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(360);
  const { rows, lines, dropped } = store;

  useLayoutEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setHeight(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    setTop(scrollTop);
    setFollows(scrollHeight - scrollTop - clientHeight < ROW);
  };
  const first = Math.max(0, Math.floor(top / ROW) - SPARE);
  const end = Math.min(rows.length, Math.ceil((top + height) / ROW) + SPARE);

  return (
    <div className="relative">
      <div ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-live="off" aria-label="Log" data-follows={follows} data-lines={lines}
        style={{ height: Math.max(128, Math.min(360, rows.length * ROW + 16)) }} className="overflow-auto bg-sunk py-2 font-mono text-12 [overflow-anchor:none]">
        {rows.length === 0 ? <div className="flex h-full items-center justify-center font-sans text-13 text-muted">{idle}</div> : (
          <div style={{ height: rows.length * ROW, minWidth: `${store.widest + 26}ch` }} className="relative">
            {rows.slice(first, end).map((row, index) => (
              <div key={row.key} className="absolute left-0 flex w-full gap-3 px-3 leading-5 whitespace-pre hover:bg-panel" style={{ top: (first + index) * ROW, height: ROW }} data-cursor={row.cursor}>
                <span className="w-[12ch] shrink-0 text-muted select-none" title={row.at ? exact(row.at) : undefined}>{row.at && clock(row.at)}</span>
                <span className={`w-[5ch] shrink-0 select-none ${LEVELS[row.level] ?? "text-muted"}`}>{row.at && short(row.level)}</span>
                <span className={LEVELS[row.level]}>{row.text}</span>
              </div>
            ))}
          </div>
        )}
      </div>
      <div className="flex min-h-9 items-center justify-between gap-2 border-t px-4 py-1 text-12 text-muted">
        <span>
          {plural(lines, "line")}
          {dropped > 0 && `, the last ${count(rows.length)} rows shown`}
          {state === "lost" && <span className="tone tone-red"> · connection lost, trying again</span>}
        </span>
        {rows.length > 0 && (follows ? <span>{state === "ended" ? "Complete" : "Following"}</span> : (
          <button type="button" className="button button-small" onClick={() => setFollows(true)}><Icon name="down" size={12} />{state === "ended" ? "To the end" : "Paused. Follow again"}</button>
        ))}
      </div>
    </div>
  );
}

const short = (level: string) => (level === "warning" ? "warn" : level.slice(0, 5));
