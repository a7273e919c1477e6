"use client";

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "@/lib/api";
import { LiveProvider } from "@/lib/live";
import { SessionProvider } from "@/lib/session";
import { Toasts } from "@/ui/toast";

const REFUSED = (error: Error) => error instanceof ApiError && error.status < 500 && error.status !== 429;

export function Providers({ children }: { children: React.ReactNode }) {
  const [client] = useState(() => new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 500,
        gcTime: 60_000,
        refetchOnWindowFocus: true,
        networkMode: "always",
        retry: (failures, error) => !REFUSED(error) && failures < 2,
        retryDelay: 700,
        // The floor under the stream; and what heals a page whose first answer failed.
        refetchInterval: (query) => (query.state.error && REFUSED(query.state.error) ? false : 5000),
      },
      mutations: { networkMode: "always" },
    },
  }));
  return (
    <QueryClientProvider client={client}>
      <SessionProvider>
        <LiveProvider>
          <Toasts>{children}</Toasts>
        </LiveProvider>
      </SessionProvider>
    </QueryClientProvider>
  );
}
