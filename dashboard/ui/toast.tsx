"use client";

import { createContext, useCallback, useContext, useRef, useState } from "react";
import { visible } from "@/lib/visible-text";

type Note = { id: number; text: React.ReactNode; bad: boolean };
const Context = createContext<(text: React.ReactNode, bad?: boolean) => void>(() => {});

export const useToast = () => useContext(Context);

/** Says in a corner what happened, for a few seconds. */
export function Toasts({ children }: { children: React.ReactNode }) {
  const [notes, setNotes] = useState<Note[]>([]);
  const next = useRef(0);
  const say = useCallback((text: React.ReactNode, bad = false) => {
    const id = next.current++;
    setNotes((all) => [...all.slice(-2), { id, text, bad }]);
    setTimeout(() => setNotes((all) => all.filter((note) => note.id !== id)), bad ? 9000 : 5000);
  }, []);
  return (
    <Context.Provider value={say}>
      {children}
      <div
        aria-live="polite"
        role="status"
        className="pointer-events-none fixed right-4 bottom-4 left-4 z-50 flex flex-col items-end gap-2"
      >
        {notes.map((note) => (
          <div
            key={note.id}
            className={`pointer-events-auto max-w-md rounded-lg border border-strong bg-panel px-4 py-3 text-13 break-words ${note.bad ? "tone tone-red" : ""}`}
          >
            {typeof note.text === "string" ? visible(note.text) : note.text}
          </div>
        ))}
      </div>
    </Context.Provider>
  );
}
