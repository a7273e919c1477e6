"use client";

import { cloneElement, useId } from "react";

type Control = React.ReactElement<{ id?: string; "aria-describedby"?: string; "aria-invalid"?: boolean }>;

/** A control with its name, a hint and what is wrong with it. */
export function Field({ name, hint, wrong, children }: { name: string; hint?: React.ReactNode; wrong?: string | null; children: Control }) {
  const id = useId();
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-13 font-medium">{name}</label>
      {cloneElement(children, { id, "aria-describedby": hint || wrong ? `${id}-about` : undefined, "aria-invalid": wrong ? true : undefined })}
      {(hint || wrong) && (
        <p id={`${id}-about`} className={`text-12 break-words ${wrong ? "tone tone-red" : "text-muted"}`}>{wrong ?? hint}</p>
      )}
    </div>
  );
}
