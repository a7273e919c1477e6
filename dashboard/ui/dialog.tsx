"use client";

import * as Radix from "@radix-ui/react-dialog";
import { useEffect, useRef, useState } from "react";
import { openPage } from "@/lib/address";
import { focusContent } from "@/lib/keyboard";
import { visibleLine } from "@/lib/visible-text";
import { Icon } from "./icon";

type Props = { title: string; onClose: () => void; children: React.ReactNode; wide?: boolean };

// What is there to fill in has the focus first; the button that closes the sheet only where there is nothing.
// A part of the form that is marked `data-begin` goes before the fields above it.
const FIELDS = ":is(input, select, textarea):not(:disabled)";
const BEGIN = `[data-begin] ${FIELDS}`;

/** A sheet above the page. One that was filled in is not thrown away by a click beside it or by Escape. */
export function Dialog({ title, onClose, children, wide = false }: Props) {
  const filled = useRef(false);
  const body = useRef<HTMLDivElement>(null);
  const [asks, setAsks] = useState(false);
  const returnFocus = useReturnFocus();
  const leave = (event: { preventDefault: () => void }) => {
    if (!filled.current) return;
    event.preventDefault();
    setAsks(true);
  };
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content
          className="sheet"
          aria-describedby={undefined}
          style={wide ? { width: "min(880px, calc(100vw - 16px))" } : undefined}
          onOpenAutoFocus={(event) => beginIn(body.current) && event.preventDefault()}
          onCloseAutoFocus={returnFocus}
          onInteractOutside={leave}
          onEscapeKeyDown={leave}
          onInput={() => {
            filled.current = true;
          }}
        >
          <header className="sticky top-0 z-10 flex h-12 items-center justify-between gap-4 border-b bg-panel px-4">
            <Radix.Title className="truncate text-14 font-semibold">{visibleLine(title)}</Radix.Title>
            <Radix.Close className="button button-bare" aria-label="Close">
              <Icon name="close" />
            </Radix.Close>
          </header>
          {asks && (
            <div
              role="alert"
              className="tone-amber tone-soft sticky top-12 z-10 flex flex-wrap items-center justify-between gap-2 border-b px-4 py-2 text-13"
            >
              Discard what you filled in?
              <span className="flex gap-2">
                <button type="button" className="button button-small" onClick={() => setAsks(false)}>
                  Keep editing
                </button>
                <button type="button" className="button button-small button-danger" onClick={onClose}>
                  Discard
                </button>
              </span>
            </div>
          )}
          <div ref={body} className="p-4">
            {children}
            <Awaited body={body} />
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** When a sheet closes, the focus goes back to where it was, but to the content of the page that the sheet led to. */
export function useReturnFocus() {
  const [page] = useState(openPage);
  return (event: Event) => {
    if (openPage() === page) return;
    event.preventDefault();
    focusContent();
  };
}

/** Gives the focus to the first field of a form; answers whether there is one. */
function beginIn(body: HTMLElement | null): boolean {
  const first = body?.querySelector<HTMLElement>(BEGIN) ?? body?.querySelector<HTMLElement>(FIELDS);
  first?.focus();
  return !!first;
}

/** Gives the focus to a form that is drawn after its sheet, unless one has gone into the sheet by then. */
function Awaited({ body }: { body: React.RefObject<HTMLDivElement | null> }) {
  useEffect(() => {
    const sheet = body.current;
    if (!sheet || sheet.querySelector(FIELDS)) return;
    const watch = new MutationObserver(() => {
      if (sheet.contains(document.activeElement) || beginIn(sheet)) watch.disconnect();
    });
    watch.observe(sheet, { childList: true, subtree: true });
    return () => watch.disconnect();
  }, [body]);
  return null;
}

export function DialogActions({ children, error }: { children: React.ReactNode; error?: Error | null }) {
  return (
    // Stays in sight while a long form is scrolled.
    <div className="sticky bottom-0 -mx-4 mt-6 -mb-4 border-t bg-panel px-4 py-3">
      {error && (
        <p role="alert" className="tone tone-red mb-3 text-13 break-words">
          {error.message}
        </p>
      )}
      <div className="flex flex-wrap justify-end gap-2">{children}</div>
    </div>
  );
}

/** The buttons of a form in a sheet: one leaves it, the other sends it. `before` stands left of both. */
export function FormActions({
  children,
  error,
  onClose,
  disabled,
  before,
}: {
  children: React.ReactNode;
  error?: Error | null;
  onClose: () => void;
  disabled: boolean;
  before?: React.ReactNode;
}) {
  return (
    <DialogActions error={error}>
      {before}
      <button type="button" className="button" onClick={onClose}>
        Cancel
      </button>
      <button type="submit" className="button button-primary" disabled={disabled}>
        {children}
      </button>
    </DialogActions>
  );
}

/** Asks before something that others will feel. */
export function Confirm({
  title,
  children,
  label,
  onConfirm,
  onClose,
  pending = false,
  error,
  dangerous = true,
  keep = "Cancel",
}: Omit<Props, "wide"> & {
  label: string;
  onConfirm: () => void;
  pending?: boolean;
  error?: Error | null;
  dangerous?: boolean;
  keep?: string;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="text-13 text-muted">{children}</div>
      <DialogActions error={error}>
        <button type="button" className="button" onClick={onClose}>
          {keep}
        </button>
        <button
          type="button"
          className={`button ${dangerous ? "button-danger" : "button-primary"}`}
          disabled={pending}
          onClick={onConfirm}
        >
          {label}
        </button>
      </DialogActions>
    </Dialog>
  );
}
