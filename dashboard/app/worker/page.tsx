import type { Metadata } from "next";
import { Suspense } from "react";
import { WorkerPage } from "@/features/workers/detail";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Worker" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <WorkerPage />
    </Suspense>
  );
}
