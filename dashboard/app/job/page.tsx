import type { Metadata } from "next";
import { Suspense } from "react";
import { JobPage } from "@/features/job/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Job" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <JobPage />
    </Suspense>
  );
}
