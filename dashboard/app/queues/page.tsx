import type { Metadata } from "next";
import { Suspense } from "react";
import { QueuesPage } from "@/features/queues/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Queues" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <QueuesPage />
    </Suspense>
  );
}
