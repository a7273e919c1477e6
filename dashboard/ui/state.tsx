import type { Job } from "@/lib/documents";
import { type JobState, LOOKS, State, TERMINAL, type Tone } from "@/lib/lifecycle.gen";
import { Glyph } from "./glyph";

const STRUCK: Tone = "grey";
const HATCHED: Tone = "orange";

/** A job's state: glyph, word and tone together. */
export function StateMark({ state, boxed = false }: { state: JobState; boxed?: boolean }) {
  const look = LOOKS[state] ?? { tone: "slate", glyph: "dots" };
  const box = boxed ? `tone-soft rounded-md px-2 h-6 ${look.tone === HATCHED ? "hatch" : ""}` : "";
  return (
    <span
      data-state={state}
      className={`tone tone-${look.tone} ${box} inline-flex items-center gap-1.5 text-13 font-medium whitespace-nowrap`}
    >
      <Glyph name={look.glyph} />
      <span className={look.tone === STRUCK ? "line-through" : ""}>{state}</span>
    </span>
  );
}

/** Whether a time that it ran for can be told: one that waits, for whatever, is not running. */
export const ran = (job: Job) => !!job.startedAt && (job.state === State.running || isTerminal(job.state));

export const isTerminal = (state: JobState) => TERMINAL.includes(state);
