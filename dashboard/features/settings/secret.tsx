"use client";

import { Copy } from "@/ui/code";
import { Dialog, DialogActions } from "@/ui/dialog";

/** Shows a secret the one time it can be seen. */
export function SecretDialog({
  title,
  secret,
  kept,
  onClose,
}: {
  title: string;
  secret: string;
  /** What Kairos itself keeps of it. */
  kept: string;
  onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="mb-3 text-13 text-muted">Copy it now: it is not shown again. {kept}</p>
      <div className="flex items-center gap-2 rounded-md bg-sunk p-3">
        <code className="min-w-0 flex-1 break-all" data-testid="secret">
          {secret}
        </code>
        <Copy text={secret} label="Copy the secret" />
      </div>
      <DialogActions>
        <button type="button" className="button button-primary" onClick={onClose}>
          I have it
        </button>
      </DialogActions>
    </Dialog>
  );
}
