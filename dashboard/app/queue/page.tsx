import type { Metadata } from "next";
import { Suspense } from "react";
import { QueuePage } from "@/features/queues/detail";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Queue" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <QueuePage />
    </Suspense>
  );
}
