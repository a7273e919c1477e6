"use client";

import { useEffect, useRef } from "react";
import { Icon } from "@/ui/icon";

/** The field of the palette until its code has come, so that what is typed by then is kept. */
export function PaletteField(props: { typed: string; onType: (typed: string) => void; onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <div role="dialog" aria-label="Go to or do" className="sheet sheet-high">
      <div className="flex items-center gap-2 px-4 text-muted">
        <Icon name="search" />
        <input
          ref={field}
          value={props.typed}
          onChange={(event) => props.onType(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && props.onClose()}
          aria-label="Go to or do"
          className="h-12 flex-1 bg-transparent text-14 text-ink outline-none"
        />
      </div>
    </div>
  );
}
