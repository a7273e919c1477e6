import { count, sayVerb } from "@/lib/format";

export type Progress = { total: number; done: number; refused: number; over: boolean };

/** How far a verb on many jobs has come. */
export function ProgressBar({ progress, verb }: { progress: Progress; verb: string }) {
  const through = progress.done + progress.refused;
  return (
    <div aria-live="polite">
      <progress className="w-full" aria-label="Progress" value={progress.over ? 1 : through} max={progress.over ? 1 : Math.max(progress.total, through, 1)} />
      <p className="mt-2 text-13" data-testid="progress">
        {sayVerb(verb)}: {count(progress.done)} of {count(Math.max(progress.total, through))} done
        {progress.refused > 0 && `, ${count(progress.refused)} refused`}
        {progress.over ? "." : "…"}
      </p>
    </div>
  );
}
