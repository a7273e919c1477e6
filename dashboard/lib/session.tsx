"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, useCallback, useContext, useEffect, useRef } from "react";
import { go, usePath } from "./address";
import { ApiError, get, onSignedOut, remove, setCsrf } from "./api";
import type { Session } from "./documents";
import { keys } from "./query-keys";

const Context = createContext<Session | null | undefined>(undefined);
const SIGN_IN = "/sign-in/";
// Whether people signed out themselves: who did not is told that the session has ended.
let left = false;

/** Who is signed in; `null` until that is known. */
export const useSession = () => useContext(Context) ?? null;

/** False once it is known that nobody is signed in. Until then pages ask for what they show: the answers of the
 *  first visit come beside the session's instead of after it, and a stranger's are refused. */
export const useMaybeSignedIn = () => useContext(Context) !== null;

/** Whether the session may do what `scope` allows. */
export function useMay(scope: "read" | "enqueue" | "operate" | "admin"): boolean {
  const order = ["read", "enqueue", "operate", "admin"];
  const scopes = useSession()?.scopes ?? [];
  return scopes.some((mine) => order.indexOf(mine) >= order.indexOf(scope));
}

export function SessionProvider({ children }: { children: React.ReactNode }) {
  const path = usePath();
  const client = useQueryClient();
  const query = useQuery({
    queryKey: keys.session,
    queryFn: async () => {
      try {
        const { session } = await get("/api/session", { quiet: true });
        setCsrf(session.csrf);
        return session;
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null;
        throw error;
      }
    },
    staleTime: Infinity,
    retry: true,
    retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 5000),
  });

  useEffect(() => onSignedOut(() => client.setQueryData(keys.session, null)), [client]);

  const signedOut = query.data === null;
  const wasSignedIn = useRef(false);
  useEffect(() => {
    if (query.data) {
      wasSignedIn.current = true;
      left = false;
    }
  }, [query.data]);
  useEffect(() => {
    if (signedOut && !path.startsWith(SIGN_IN)) {
      const here = path + window.location.search;
      const ended = wasSignedIn.current && !left ? "&ended=yes" : "";
      go(`${SIGN_IN}?next=${encodeURIComponent(here)}${ended}`, "replace");
    }
  }, [signedOut, path]);

  return <Context.Provider value={query.data}>{children}</Context.Provider>;
}

export function useSignOut() {
  const client = useQueryClient();
  return useCallback(async () => {
    await remove("/api/session");
    left = true;
    client.removeQueries({ predicate: (query) => query.queryKey[0] !== keys.session[0] });
    client.setQueryData(keys.session, null);
  }, [client]);
}
