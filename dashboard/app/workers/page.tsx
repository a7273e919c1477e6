import type { Metadata } from "next";
import { Suspense } from "react";
import { WorkersPage } from "@/features/workers/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Workers" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <WorkersPage />
    </Suspense>
  );
}
