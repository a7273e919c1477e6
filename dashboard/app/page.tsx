import type { Metadata } from "next";
import { Suspense } from "react";
import { OverviewPage } from "@/features/overview/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Now" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <OverviewPage />
    </Suspense>
  );
}
