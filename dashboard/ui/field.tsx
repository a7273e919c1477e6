"use client";

import { cloneElement, useId } from "react";

type Control = React.ReactElement<{
  id?: string;
  "aria-describedby"?: string;
  "aria-invalid"?: boolean;
  "aria-required"?: boolean;
}>;

/** A control with its name, a hint and what is wrong with it. */
export function Field({
  name,
  hint,
  wrong,
  required = false,
  children,
}: {
  name: string;
  hint?: React.ReactNode;
  wrong?: string | null;
  required?: boolean;
  children: Control;
}) {
  const id = useId();
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className={`text-13 font-medium ${required ? "required" : ""}`}>
        {name}
      </label>
      {cloneElement(children, {
        id,
        "aria-describedby": hint || wrong ? `${id}-about` : undefined,
        "aria-invalid": wrong ? true : undefined,
        "aria-required": required || undefined,
      })}
      {(hint || wrong) && (
        <p id={`${id}-about`} className={`text-12 break-words ${wrong ? "tone tone-red" : "text-muted"}`}>
          {wrong ?? hint}
        </p>
      )}
    </div>
  );
}

/** Takes an instant, to the second, in the time zone of the browser. */
export function TimeInput(props: Omit<React.ComponentProps<"input">, "className" | "type" | "step">) {
  return <input {...props} className="input" type="datetime-local" step={1} />;
}
