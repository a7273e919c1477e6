"use client";

import { useEffect, useRef } from "react";
import { Icon } from "./icon";

/** A sheet above the page: the browser keeps the focus inside, and Escape closes it. */
export function Dialog({ title, onClose, children, wide = false }: { title: string; onClose: () => void; children: React.ReactNode; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
  }, []);
  return (
    <dialog ref={ref} className="sheet" aria-label={title} style={wide ? { width: "min(880px, calc(100vw - 16px))" } : undefined}
      onClose={onClose} onClick={(event) => event.target === ref.current && ref.current?.close()}>
      <header className="sticky top-0 z-10 flex h-12 items-center justify-between gap-4 border-b bg-panel px-4">
        <h2 className="truncate text-14 font-semibold">{title}</h2>
        <button type="button" className="button button-bare" aria-label="Close" onClick={() => ref.current?.close()}><Icon name="close" /></button>
      </header>
      <div className="p-4">{children}</div>
    </dialog>
  );
}

export function DialogActions({ children, error }: { children: React.ReactNode; error?: Error | null }) {
  return (
    <div className="mt-6">
      {error && <p role="alert" className="tone tone-red mb-3 text-13 break-words">{error.message}</p>}
      <div className="flex flex-wrap justify-end gap-2">{children}</div>
    </div>
  );
}
