"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { jobHref } from "@/lib/address";
import { get } from "@/lib/api";
import { exactSpan, timeAxis } from "@/lib/axes";
import type { Change, Job } from "@/lib/documents";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";
import { clock, exact, now, span, useSecond } from "@/lib/time";
import { visible, visibleLine } from "@/lib/visible-text";
import { Icon } from "@/ui/icon";
import { Link } from "@/ui/link";
import { StateMark } from "@/ui/state";
import {
  type Waterfall as Drawn,
  type Lane,
  type Piece,
  sayLane,
  wasFailure,
  waterfallOf,
} from "./waterfall";

/** The step and attempt whose lines of the log are shown. */
export type Attempt = { step: string; attempt: number };

type Props = {
  job: Job;
  history: readonly Change[];
  family: readonly Job[];
  chosen: Attempt | null;
  choose: (attempt: Attempt | null) => void;
};

/** Where the time went: a lane for each attempt of each step, and one for each child. */
export function Waterfall({ job, history, family, chosen, choose }: Props) {
  useSecond();
  const drawn = waterfallOf(job, history, now());
  const childEnd = Math.max(
    0,
    ...family.map((child) => (child.completedAt ? Date.parse(child.completedAt) : now())),
  );
  const frame = { ...drawn, end: Math.max(drawn.end, Math.min(childEnd, drawn.live ? now() : childEnd)) };
  const same = (lane: Lane) => chosen?.step === lane.step && chosen.attempt === lane.attempt;
  return (
    <div data-testid="waterfall" className="text-13">
      <Scale frame={frame} />
      <ul>
        {drawn.lanes.map((lane, index) => (
          <li key={index}>
            <button
              type="button"
              aria-pressed={same(lane)}
              data-lane={`${lane.step} ${lane.attempt + 1}`}
              title="Show only this attempt in the log"
              className="lane aria-pressed:bg-sunk"
              onClick={() => choose(same(lane) ? null : { step: lane.step, attempt: lane.attempt })}
            >
              <span className="min-w-0">
                <span className="flex items-center gap-2">
                  <span className="truncate font-medium">{visibleLine(lane.step)}</span>
                  {lane.attempt > 0 && (
                    <span className="text-12 whitespace-nowrap text-muted">attempt {lane.attempt + 1}</span>
                  )}
                </span>
                <span data-said className="block text-12 break-words text-muted">
                  {sayLane(lane, job.awaits)}
                </span>
                {lane.reason && wasFailure(lane) && (
                  <span
                    className="tone tone-red line-clamp-2 text-12 break-words"
                    title={visible(lane.reason)}
                  >
                    {visibleLine(lane.reason)}
                  </span>
                )}
              </span>
              <Track pieces={lane.pieces} frame={frame} lane={lane} />
            </button>
          </li>
        ))}
        {family.map((child) => (
          <ChildLane key={String(child.id)} child={child} frame={frame} />
        ))}
      </ul>
      <Legend live={drawn.live} />
    </div>
  );
}

/** A child: one lane for the whole of it, and its own lanes where it is opened. */
function ChildLane({ child, frame }: { child: Job; frame: Drawn }) {
  const [open, setOpen] = useState(false);
  const enabled = useMaybeSignedIn();
  const history = useQuery({
    queryKey: keys.childHistory(child.id),
    queryFn: () => get("/api/jobs/{id}/history", { path: { id: child.id } }),
    enabled: enabled && open,
  });
  const whole = waterfallOf(child, history.data?.history ?? [], now());
  const started = child.startedAt ? Date.parse(child.startedAt) : whole.end;
  const pieces: Piece[] = [
    { kind: "queued", from: whole.begin, to: started, open: !child.startedAt && whole.live },
    ...(child.startedAt ? [{ kind: "ran" as const, from: started, to: whole.end, open: whole.live }] : []),
  ];
  return (
    <li>
      <div className="lane">
        <span className="flex min-w-0 items-center gap-1">
          <button
            type="button"
            className="button button-bare button-small"
            aria-expanded={open}
            aria-label={`Steps of job ${child.id}`}
            onClick={() => setOpen(!open)}
          >
            <Icon name={open ? "down" : "right"} size={14} />
          </button>
          <span className="min-w-0">
            <Link href={jobHref(child.id)} className="link block truncate font-medium">
              {visibleLine(child.action)} {child.id}
            </Link>
            <span className="flex items-center gap-2 text-12 text-muted">
              <StateMark state={child.state} />
              {child.startedAt && span(whole.end - started)}
            </span>
          </span>
        </span>
        <Track pieces={pieces} frame={frame} />
      </div>
      {open && (
        <ul className="border-l-2 border-line ml-6">
          {whole.lanes.map((lane, index) => (
            <li key={index} className="lane">
              <span className="min-w-0">
                <span className="block truncate">{visibleLine(lane.step)}</span>
                <span className="block text-12 break-words text-muted">{sayLane(lane, child.awaits)}</span>
              </span>
              <Track pieces={lane.pieces} frame={frame} lane={lane} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

/** The pieces of a lane on the common scale; the tone of what ran tells how it came out. */
function Track({ pieces, frame, lane }: { pieces: readonly Piece[]; frame: Drawn; lane?: Lane }) {
  const length = frame.end - frame.begin;
  const at = (ms: number) => `${Math.max(0, Math.min(100, ((ms - frame.begin) / length) * 100))}%`;
  const tone = lane && wasFailure(lane) ? "tone-red" : "tone-blue";
  return (
    <span className="relative block h-6" aria-hidden="true">
      {pieces.map((piece, index) => (
        <span
          key={index}
          data-piece={piece.kind}
          data-open={piece.open || undefined}
          className={`piece piece-${piece.kind} ${piece.kind === "ran" ? tone : piece.kind === "waited" ? "tone-violet" : "tone-grey"}`}
          style={{ left: at(piece.from), width: `max(2px, calc(${at(piece.to)} - ${at(piece.from)}))` }}
          title={`${WORDS[piece.kind]} ${span(piece.to - piece.from)}, ${offset(piece.from - frame.begin)} to ${offset(piece.to - frame.begin)} (${exact(new Date(piece.from).toISOString())})`}
        />
      ))}
      {frame.live && <span className="now-line" style={{ left: at(now()) }} />}
    </span>
  );
}

const WORDS = { ran: "ran", waited: "waited", queued: "queued", due: "not due" } as const;
const second = (at: number) => clock(new Date(at).toISOString()).slice(0, 8);
const offset = (ms: number) => `+${ms < 1 ? "0" : span(ms)}`;

/** Offsets from when the job was accepted, and the clock at both ends. */
function Scale({ frame }: { frame: Drawn }) {
  const length = frame.end - frame.begin;
  const { ticks } = timeAxis(length);
  const begin = second(frame.begin);
  const end = frame.live ? "now" : second(frame.end);
  return (
    <div className="lane text-12 text-muted" aria-hidden="true">
      <span className="truncate">{begin === end ? begin : `${begin} to ${end}`}</span>
      <span className="relative block h-4">
        {ticks
          .filter((tick) => tick.value <= length)
          .map((tick) => (
            <span
              key={tick.value}
              className="absolute whitespace-nowrap"
              style={{
                left: `${(tick.value / length) * 100}%`,
                translate: tick.value === 0 ? "0" : tick.value > length * 0.9 ? "-100%" : "-50%",
              }}
            >
              {tick.value === 0 ? "0" : `+${exactSpan(tick.value)}`}
            </span>
          ))}
      </span>
    </div>
  );
}

function Legend({ live }: { live: boolean }) {
  const entries = [
    ["ran", "ran", "tone-blue"],
    ["waited", "waited for a signal", "tone-violet"],
    ["queued", "queued", "tone-grey"],
    ["due", "not due yet or backing off", "tone-grey"],
  ] as const;
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1 border-t px-4 py-2 text-12 text-muted">
      {entries.map(([kind, name, tone]) => (
        <span key={kind} className="flex items-center gap-1.5">
          <span className="relative inline-block h-3 w-5" aria-hidden="true">
            <span className={`piece piece-${kind} ${tone}`} style={{ left: 0, width: "100%" }} />
          </span>
          {name}
        </span>
      ))}
      {live && <span>the line is now</span>}
    </p>
  );
}
