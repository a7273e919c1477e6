"use client";

import { useMemo, useState } from "react";
import { write } from "@/lib/json";
import { visible } from "@/lib/visible-text";
import { Icon } from "./icon";

const SHOWN = 20_000;

/** A JSON value as text, every digit of it. */
export function JsonText({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => write(value, 2), [value]);
  return <Text text={text} label={label} />;
}

export function Text({ text, label }: { text: string; label: string }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > SHOWN;
  return (
    <div className="relative">
      <pre
        role="region"
        tabIndex={0}
        aria-label={label}
        className="max-h-80 overflow-auto rounded-md bg-sunk p-3 pr-12 break-words whitespace-pre-wrap"
      >
        {visible(cut ? text.slice(0, SHOWN) : text)}
      </pre>
      <div className="absolute top-1 right-1">
        <Copy text={text} label={`Copy ${label.toLowerCase()}`} />
      </div>
      {cut && (
        <button type="button" className="button button-small mt-2" onClick={() => setWhole(true)}>
          Show all of it
        </button>
      )}
    </div>
  );
}

/** Copies what a function answers when it is asked to. */
export function CopyButton({ text, label }: { text: () => string; label: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      className="button"
      onClick={async () => {
        await navigator.clipboard.writeText(text());
        setDone(true);
        setTimeout(() => setDone(false), 1500);
      }}
    >
      <Icon name="copy" size={14} />
      {done ? "Copied" : label}
    </button>
  );
}

/** A button that copies a text; `inline` is one within a sentence, no higher than its line. */
export function Copy({ text, label, inline = false }: { text: string; label: string; inline?: boolean }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button
      type="button"
      className={`button button-bare button-small ${inline ? "-my-1 h-6! px-1! align-middle" : "bg-sunk"}`}
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      {done ? <span className="text-12">Copied</span> : <Icon name="copy" size={14} />}
    </button>
  );
}
