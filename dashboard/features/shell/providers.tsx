"use client";

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { LiveProvider } from "@/lib/live-updates";
import { every, isRefused } from "@/lib/refetch";
import { SessionProvider } from "@/lib/session";
import { Toasts } from "@/ui/toast";

export function Providers({ children }: { children: React.ReactNode }) {
  const [client] = useState(
    () =>
      new QueryClient({
        defaultOptions: {
          queries: {
            staleTime: 500,
            gcTime: 60_000,
            refetchOnWindowFocus: true,
            networkMode: "always",
            retry: (failures, error) => !isRefused(error) && failures < 2,
            retryDelay: 700,
            // While the stream is down; and what heals a page whose first answer failed.
            refetchInterval: every(2000),
          },
          mutations: { networkMode: "always" },
        },
      }),
  );
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
