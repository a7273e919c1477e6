import type { Metadata } from "next";
import { Suspense } from "react";
import { JobsPage } from "@/features/jobs/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Jobs" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <JobsPage />
    </Suspense>
  );
}
