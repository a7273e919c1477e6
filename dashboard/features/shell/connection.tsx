"use client";

import { useEffect, useState, useSyncExternalStore } from "react";
import { answeredAt } from "@/lib/api";
import { useLive } from "@/lib/live-updates";
import { now, span, useSecond } from "@/lib/time";

/** Says whether what one sees is live; a loss that lasts longer than a moment gets a banner. */
export function Connection() {
  const { state } = useLive();
  const online = useOnline();
  const [long, setLong] = useState(false);
  const lost = state === "lost";
  useEffect(() => {
    if (!lost) return setLong(false);
    const timer = setTimeout(() => setLong(true), 1200);
    return () => clearTimeout(timer);
  }, [lost]);

  return (
    <>
      <span className="hidden items-center gap-2 px-2 text-12 text-muted sm:flex" data-connection={state}>
        <span
          className={`tone ${lost ? "tone-red" : state === "open" ? "tone-green" : "tone-grey"}`}
          aria-hidden="true"
        >
          <svg width="8" height="8" viewBox="0 0 8 8">
            {state === "open" ? (
              <circle cx="4" cy="4" r="3" fill="currentColor" />
            ) : (
              <circle cx="4" cy="4" r="3" fill="none" stroke="currentColor" strokeWidth="1.5" />
            )}
          </svg>
        </span>
        <span>
          {state === "open" ? "Live" : lost ? (online ? "Reconnecting" : "Offline") : "Connecting"}
          {long && (
            <>
              {" · "}
              <Age />
            </>
          )}
        </span>
      </span>
      {long && (
        <div
          role="alert"
          className="tone tone-red tone-soft fixed inset-x-0 top-14 z-30 border-b px-4 py-2 text-center text-13 lg:left-[216px]"
        >
          {online ? "The connection is lost." : "This browser is offline."} What you see may be out of date
          <span aria-hidden="true">
            {" "}
            (<Age />)
          </span>
          . The page reconnects by itself.
        </div>
      )}
    </>
  );
}

/** How old what one sees is: it was live until the connection was lost, or came with a later answer. */
function Age() {
  const { liveUntil } = useLive();
  useSecond();
  const at = Math.max(liveUntil, answeredAt());
  return at > 0 ? <>{span(Math.max(0, now() - at))} old</> : <>nothing has come yet</>;
}

const useOnline = () =>
  useSyncExternalStore(
    (changed) => {
      window.addEventListener("online", changed);
      window.addEventListener("offline", changed);
      return () => {
        window.removeEventListener("online", changed);
        window.removeEventListener("offline", changed);
      };
    },
    () => navigator.onLine,
    () => true,
  );
