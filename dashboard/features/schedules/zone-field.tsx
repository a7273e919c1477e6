"use client";

import { useId, useMemo } from "react";
import { ownZone } from "@/lib/time";

/** A time zone by name; one's own is offered first. */
export function ZoneField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const id = useId();
  const zones = useMemo(() => [...new Set([ownZone(), "UTC", ...Intl.supportedValuesOf("timeZone")])], []);
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-13 font-medium">
        Time zone
      </label>
      <input
        id={id}
        className="input"
        list={`${id}-zones`}
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={`${id}-zones`}>
        {zones.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </div>
  );
}
