"use client";

import { useSession, useSignOut } from "@/lib/session";
import { useTheme } from "@/lib/theme";
import { useZone } from "@/lib/time";
import { Icon } from "@/ui/icon";
import { useToast } from "@/ui/toast";

export function Foot({ onHelp }: { onHelp: () => void }) {
  const session = useSession();
  const signOut = useSignOut();
  const say = useToast();
  const [theme, setTheme] = useTheme();
  const [zone, setZone] = useZone();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <div className="flex flex-col gap-1 border-t p-2">
      <div className="flex items-center gap-1">
        <button
          type="button"
          className="button button-bare"
          aria-label={`Use the ${other} theme`}
          title={`Use the ${other} theme`}
          onClick={() => setTheme(other)}
        >
          <Icon name={theme === "dark" ? "sun" : "moon"} />
        </button>
        <button
          type="button"
          className="button button-bare text-12 text-muted"
          title={zone === "utc" ? "Times are in UTC" : "Times are in your time zone"}
          onClick={() => setZone(zone === "utc" ? "local" : "utc")}
        >
          {zone === "utc" ? "UTC" : "Local time"}
          <span className="sr-only">
            : {zone === "utc" ? "show times in your time zone" : "show times in UTC"}
          </span>
        </button>
        <button
          type="button"
          className="button button-bare"
          aria-label="Keyboard help"
          title="Keyboard help (?)"
          onClick={onHelp}
        >
          <Icon name="help" />
        </button>
      </div>
      <div className="flex h-8 items-center justify-between gap-2 px-2 text-13">
        <span className="truncate text-muted" title={session?.scopes.join(", ")}>
          {session?.open ? "Open on this machine" : (session?.name ?? "…")}
        </span>
        {session && !session.open && (
          <button
            type="button"
            className="button button-bare button-small -mr-2"
            onClick={() => signOut().catch((error: Error) => say(error.message, true))}
          >
            <Icon name="out" size={14} />
            Sign out
          </button>
        )}
      </div>
    </div>
  );
}
