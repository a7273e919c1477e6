"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";
import { Brand } from "@/features/shell/shell";
import { go } from "@/lib/address";
import { post, setCsrf } from "@/lib/api";
import { keys } from "@/lib/query-keys";
import { useSession } from "@/lib/session";
import { Field } from "@/ui/field";

export function SignInPage() {
  const client = useQueryClient();
  const session = useSession();
  const address = useSearchParams();
  const next = local(address.get("next"));
  const [key, setKey] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  useEffect(() => {
    if (session) go(next, "replace");
  }, [session, next]);

  const signIn = async (event: React.FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setWrong(null);
    try {
      const { session: mine } = await post("/api/session", {
        body: { key: key.trim() },
        quiet: true,
      });
      setCsrf(mine.csrf);
      client.setQueryData(keys.session, mine);
    } catch (error) {
      setWrong((error as Error).message);
    } finally {
      setBusy(false);
    }
  };

  return (
    <main id="main" className="flex min-h-dvh items-center justify-center px-4">
      <div className="w-full max-w-96">
        <div className="mb-6">
          <Brand />
        </div>
        <div className="panel p-6">
          <h1 className="mb-4 text-20 font-semibold tracking-tight">Sign in</h1>
          {address.has("ended") && (
            <p role="status" className="-mt-2 mb-4 text-13 text-muted">
              Your session has ended. Sign in to go on where you were.
            </p>
          )}
          <form onSubmit={(event) => void signIn(event)} className="flex flex-col gap-4">
            <Field
              name="Key"
              wrong={wrong}
              hint={
                <>
                  It begins with <code className="text-12">kr_</code>.{" "}
                  <code className="text-12">kairos keys add</code> makes one.
                </>
              }
            >
              <input
                className="input font-mono"
                type="password"
                autoComplete="current-password"
                // biome-ignore lint/a11y/noAutofocus: the one thing to do on this page
                autoFocus
                required
                value={key}
                onChange={(event) => setKey(event.target.value)}
              />
            </Field>
            <button type="submit" className="button button-primary h-9" disabled={busy || !key.trim()}>
              {busy ? "Signing in…" : "Sign in"}
            </button>
          </form>
        </div>
      </div>
    </main>
  );
}

/** A page of this site and of no other. */
function local(next: string | null): string {
  return next && /^\/(?![/\\])/.test(next) && !next.startsWith("/sign-in") ? next : "/";
}
