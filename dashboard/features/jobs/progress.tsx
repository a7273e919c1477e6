import { count } from "@/lib/format";
import { DialogActions } from "@/ui/dialog";

export type Progress = { total: number; done: number; refused: number; over: boolean };

/** How far a request for many jobs has come. */
export function ProgressBar({ progress, label }: { progress: Progress; label: string }) {
  const through = progress.done + progress.refused;
  return (
    <div aria-live="polite">
      <progress
        className="w-full"
        aria-label="Progress"
        value={progress.over ? 1 : through}
        max={progress.over ? 1 : Math.max(progress.total, through, 1)}
      />
      <p className="mt-2 text-13" data-testid="progress">
        {label}: {count(progress.done)} of {count(Math.max(progress.total, through))} done
        {progress.refused > 0 && `, ${count(progress.refused)} refused`}
        {progress.over ? "." : "…"}
      </p>
    </div>
  );
}

/** The buttons of a sheet that asks for many jobs: `children` begins the work, which can be stopped. */
export function ProgressActions({
  progress,
  error,
  onClose,
  onStop,
  children,
}: {
  progress: Progress | null;
  error?: Error | null;
  onClose: () => void;
  onStop: () => void;
  children: React.ReactNode;
}) {
  return (
    <DialogActions error={error}>
      {progress?.over ? (
        <button type="button" className="button button-primary" onClick={onClose}>
          Close
        </button>
      ) : progress ? (
        <button type="button" className="button" onClick={onStop}>
          Stop here
        </button>
      ) : (
        <>
          <button type="button" className="button" onClick={onClose}>
            Change nothing
          </button>
          {children}
        </>
      )}
    </DialogActions>
  );
}
