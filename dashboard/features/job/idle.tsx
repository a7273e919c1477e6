import type { Job } from "@/lib/documents";
import { LOOKS, State } from "@/lib/lifecycle.gen";
import { visibleLine } from "@/lib/visible-text";
import { Glyph } from "@/ui/glyph";
import { isTerminal } from "@/ui/state";
import { Time } from "@/ui/time";

/** What stands where no line of the log is. */
export function Idle({ job, done }: { job: Job; done: boolean }) {
  if (done || isTerminal(job.state)) return "This job wrote no log.";
  const { tone, glyph } = job.state === State.pending ? LOOKS[State.running] : LOOKS[job.state];
  return (
    <span className={`tone tone-${tone} flex items-center gap-2 px-4 text-center`}>
      <Glyph name={glyph} />
      <span>{why(job)}</span>
    </span>
  );
}

function why(job: Job): React.ReactNode {
  if (job.state === State.scheduled) {
    return (
      <>
        It is due <Time at={job.runAt} />.
      </>
    );
  }
  if (job.state === State.pending) return "Waiting for a worker to take it.";
  return job.awaits.length > 0
    ? `It waits for the signal ${job.awaits.map(visibleLine).join(" or ")}.`
    : "Nothing written yet.";
}
